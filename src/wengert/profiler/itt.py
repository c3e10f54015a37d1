"""Marks for Intel's VTune. Its library is not used here: ``is_available`` says no, and marking says so."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available() -> bool:
    """``False``."""
    return False


def mark(msg: str) -> NoReturn:
    """Raise ``RuntimeError``: there is no ITT library."""
    raise RuntimeError("ITT functions not installed. Are you sure you have a ITT build?")


range_push = mark


def range_pop() -> NoReturn:
    """Raise ``RuntimeError``: there is no ITT library."""
    mark("")


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A marked block."""
    mark(msg.format(*args, **kwargs))
    yield
