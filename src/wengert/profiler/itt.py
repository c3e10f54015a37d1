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


def _refuse() -> NoReturn:
    raise RuntimeError("ITT functions not installed. Are you sure you have a ITT build?")


def range_push(msg: str) -> NoReturn:
    """Raise ``RuntimeError``: there is no ITT library."""
    _refuse()


def range_pop() -> NoReturn:
    """Raise ``RuntimeError``: there is no ITT library."""
    _refuse()


def mark(msg: str) -> NoReturn:
    """Raise ``RuntimeError``: there is no ITT library."""
    _refuse()


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A marked block."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
