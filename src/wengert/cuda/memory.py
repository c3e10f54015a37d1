"""``cuda.memory``: what a program asks of a card's memory. There is none: nothing is in use."""

from __future__ import annotations

from typing import Any

from ..names.missing import missing_from
from . import (
    MemPool,
    _absent,
    _refuse,
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)

__all__ = ["CUDAPluggableAllocator", "MemPool", "empty_cache", "max_memory_allocated", "max_memory_reserved",
    "mem_get_info", "memory_allocated", "memory_reserved", "memory_snapshot", "memory_stats", "memory_summary",
    "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_per_process_memory_fraction", "use_mem_pool"]

CUDAPluggableAllocator = _absent("CUDAPluggableAllocator", "An allocator in a shared library.")
use_mem_pool = _record_memory_history = _snapshot = _dump_snapshot = get_allocator_backend = _refuse


def _set_allocator_settings(settings: Any) -> None:
    """Does nothing: there is no allocator."""


__getattr__ = missing_from(__name__)
