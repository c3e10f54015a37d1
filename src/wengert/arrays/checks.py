"""Checks of elements that an operator makes: at once, or of arrays on a device when something is read from it."""

from __future__ import annotations

from typing import Any

from . import kernels as K
from .array_likes import FOREIGN


def check_range(index: Any, low: int, high: int, text: str = "index out of range in self") -> None:
    """Raise ``IndexError`` for integers outside of ``[low, high)``; ``{}`` in the text stands for one of them.

    Of an array on a device it is the next read that raises it, so that the operator does not wait.
    """
    if type(index) in FOREIGN:
        if index.size:
            index.check_later(low, high, text)
    elif not K.within(index, low, high - 1):
        raise IndexError(text.format(index.min() if index.min() < low else index.max()))
