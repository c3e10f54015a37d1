"""Marks for NVIDIA's profiler, refused as in a build without CUDA."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def range_push(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise the ``RuntimeError`` of a build without CUDA."""
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


range_pop = range_start = range_end = mark = range_push


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Refused when it is entered, or when a function that it decorates is called."""
    range_push(msg)
    yield
