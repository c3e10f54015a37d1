"""Helpers of modes."""

from __future__ import annotations

from ..dispatch.torch_dispatch import DisableTorchDispatch

__all__ = ["all_same_mode", "no_dispatch"]


def no_dispatch() -> DisableTorchDispatch:
    """A context in which neither a dispatch mode nor a class runs operators."""
    return DisableTorchDispatch()


def all_same_mode(modes: object) -> bool:
    """Whether all of ``modes`` are one."""
    row: tuple[object, ...] = tuple(modes)  # type: ignore[arg-type]
    return all(mode is row[0] for mode in row)
