"""Helpers of modes."""

from __future__ import annotations

from ._python_dispatch import _Without

__all__ = ["all_same_mode", "no_dispatch"]


def no_dispatch() -> _Without:
    """A context in which no dispatch mode is active."""
    return _Without(None)


def all_same_mode(modes: object) -> bool:
    """Whether all of ``modes`` are one."""
    row: tuple[object, ...] = tuple(modes)  # type: ignore[arg-type]
    return all(mode is row[0] for mode in row)
