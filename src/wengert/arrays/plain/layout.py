"""Copies in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wengert.arrays.plain.widen import Array


def in_order(x: Array) -> Array:
    """Return a new array in C order with the values of ``x``."""
    return np.array(x, order="C")
