"""``cuda.memory``: how much of a card's memory is in use, and the error when there is no more."""

from __future__ import annotations

from typing import Any

from ..names.missing import missing_from
from ._devices import NOT_COMPILED, _refusing, index_of, is_available, needed

__all__ = ["CUDAPluggableAllocator", "MemPool", "empty_cache", "max_memory_allocated", "max_memory_reserved",
    "mem_get_info", "memory_allocated", "memory_reserved", "memory_snapshot", "memory_stats", "memory_summary",
    "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_per_process_memory_fraction", "use_mem_pool"]


def _absent(name: str, doc: str, text: str | None = None) -> type:
    """A class for annotations and ``isinstance``; making one is refused."""

    def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(text or f"Tried to instantiate dummy base class {name}")

    return type(name, (), {"__new__": refuse, "__doc__": doc, "__module__": __name__})


MemPool = _absent("MemPool", "A pool of a card's memory.")
CUDAPluggableAllocator = _absent("CUDAPluggableAllocator", "An allocator in a shared library.")
_refuse = _refusing(NOT_COMPILED)
use_mem_pool = _record_memory_history = _snapshot = _dump_snapshot = get_allocator_backend = _refuse
memory_snapshot = set_sync_debug_mode = get_sync_debug_mode = get_per_process_memory_fraction = _refuse


def _count(name: str, device: Any) -> int:
    if not is_available():
        return 0
    index = index_of(device)
    return needed().counts(index).get(name, 0)


def memory_allocated(device: Any = None) -> int:
    """Bytes in use by tensors on a card; 0 without one."""
    return _count("current", device)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that were in use at a time since the start, or :func:`reset_peak_memory_stats`."""
    return _count("peak", device)


def memory_reserved(device: Any = None) -> int:
    """Bytes that the pool holds: those in use, and those kept for use again."""
    return _count("reserved", device)


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that the pool held."""
    return _count("peak_reserved", device)


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def empty_cache() -> None:
    """Give memory that is kept for use again back to the card."""
    if is_available():
        needed().empty_cache()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """``(free, total)`` bytes of a card, other programs counted."""
    index = index_of(device)
    return needed().memory(index)


def memory_stats(device: Any = None) -> dict[str, Any]:
    """All counts, by PyTorch's names."""
    index = index_of(device)
    found = {"current": 0, "peak": 0, "reserved": 0, "peak_reserved": 0, "allocations": 0, "frees": 0,
        **needed().counts(index)}
    rows = {"allocated_bytes": ("current", "peak"), "active_bytes": ("current", "peak"),
        "reserved_bytes": ("reserved", "peak_reserved")}
    stats = {f"{row}.all.{key}": found[name] for row, names in rows.items()
        for key, name in zip(("current", "peak"), names)}
    return {**stats, "allocation.all.allocated": found["allocations"], "allocation.all.freed": found["frees"],
        "allocation.all.current": found["allocations"] - found["frees"], "num_alloc_retries": 0, "num_ooms": 0}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The counts as a table to print."""
    index = index_of(device)
    stats = memory_stats(index)
    free, total = mem_get_info(index)
    rows = [("in use by tensors", stats["allocated_bytes.all.current"]),
        ("most in use", stats["allocated_bytes.all.peak"]), ("held by the pool", stats["reserved_bytes.all.current"]),
        ("most held by the pool", stats["reserved_bytes.all.peak"]), ("free on the card", free),
        ("on the card", total)]
    ruler = "+" + "-" * 36 + "+" + "-" * 18 + "+"
    head = f"| {f'memory of cuda:{index}':<34} | {'bytes':>16} |"
    return "\n".join([ruler, head, ruler, *(f"| {name:<34} | {n:>16,} |" for name, n in rows), ruler])


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let ``max_memory_allocated`` and ``max_memory_reserved`` begin anew."""
    index = index_of(device)
    needed().reset_peak(index)


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Accepted: counts of allocations go on."""
    index_of(device)


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Let tensors use at most this part of a card's memory; more is an ``OutOfMemoryError``."""
    index = index_of(device)
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    needed().limit(fraction, index)


def out_of_memory(wanted: int, index: int) -> str:
    """What PyTorch says when a card's memory does not suffice for ``wanted`` bytes."""
    runtime = needed()
    (free, total), counts = runtime.memory(index), runtime.counts(index)
    used, held = counts.get("current", 0), counts.get("reserved", 0)
    return (f"CUDA out of memory. Tried to allocate {_size(wanted)}. GPU {index} has a total capacity of "
        f"{_size(total)} of which {_size(free)} is free. Of the allocated memory {_size(used)} is allocated by "
        f"PyTorch, and {_size(max(0, held - used))} is reserved by PyTorch but unallocated.")


def _size(n: int) -> str:
    """Bytes as PyTorch's allocator writes them."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if n >= unit:
            return f"{n / unit:.2f} {name}"
    return f"{n} bytes"


def host_memory_stats() -> dict[str, Any]:
    """The counts of pinned memory: none."""
    return {}


def _set_allocator_settings(settings: Any) -> None:
    """Does nothing: the pool has no settings."""


__getattr__ = missing_from(__name__)
