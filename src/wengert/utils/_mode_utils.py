"""Helpers of modes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..tensor.dispatch import classes_hidden
from ._python_dispatch import _Without

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["all_same_mode", "no_dispatch"]


@contextmanager
def no_dispatch() -> Iterator[None]:
    """A context in which neither a dispatch mode nor a class is asked to run operators."""
    token = classes_hidden.set(True)
    try:
        with _Without(None):
            yield
    finally:
        classes_hidden.reset(token)


def all_same_mode(modes: object) -> bool:
    """Whether all of ``modes`` are one."""
    row: tuple[object, ...] = tuple(modes)  # type: ignore[arg-type]
    return all(mode is row[0] for mode in row)
