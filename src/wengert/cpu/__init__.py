"""``cpu``: the one device that is always there, with the interface that other devices have.

Its memory is counted as ``torch.cuda`` counts that of a GPU: every byte that arrays hold, in all threads.

>>> before = torch.cpu.memory_allocated()
>>> x = torch.zeros(1000)
>>> torch.cpu.memory_allocated() - before
4000
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..arrays import memory as _memory
from ..arrays.memory import empty_cache as empty_cache
from ..arrays.memory import set_cache_limit as set_cache_limit


def is_available() -> bool:
    """``True``."""
    return True


def is_initialized() -> bool:
    """``True``."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def set_device(device: Any) -> None:
    """Does nothing: there is one."""


def synchronize(device: Any = None) -> None:
    """Does nothing: an operation has finished when it returns."""


class Stream:
    """A queue of work; here work is done at once."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for."""

    def record_event(self) -> None:
        """Nothing to mark."""

    def wait_event(self, event: Any) -> None:
        """Nothing to wait for."""


_stream = Stream()


def current_stream(device: Any = None) -> Stream:
    """The one stream."""
    return _stream


def stream(stream: Any) -> AbstractContextManager[Any]:
    """A block that runs in ``stream``: as any other."""
    return nullcontext()


# -- memory -----------------------------------------------------------------------------------------------------------


def memory_allocated(device: Any = None) -> int:
    """Bytes that arrays hold now. ``RuntimeError`` where the native extension, which counts them, is not in use."""
    return _memory.memory_allocated()


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that arrays held since the program began or ``reset_peak_memory_stats`` was called."""
    return _memory.counts().peak


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let ``max_memory_allocated`` begin anew."""
    _memory.reset_peak()


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Let the counts of allocations begin at zero."""
    _memory.reset_totals()


def memory_reserved(device: Any = None) -> int:
    """Bytes that arrays hold, and those that were freed and are kept for use again (see ``empty_cache``)."""
    found = _memory.counts()
    return max(0, found.current) + found.kept


def memory_stats(device: Any = None) -> dict[str, int]:
    """All counts, by the names that ``torch.cuda.memory_stats`` has for them."""
    found = _memory.counts()
    current = max(0, found.current)
    return {
        "allocated_bytes.all.allocated": found.allocated, "allocated_bytes.all.current": current,
        "allocated_bytes.all.freed": max(0, found.allocated - current), "allocated_bytes.all.peak": found.peak,
        "allocation.all.allocated": found.allocations,
        "allocation.all.current": max(0, found.allocations - found.frees), "allocation.all.freed": found.frees,
        "inactive_split_bytes.all.current": found.kept, "num_alloc_reused": found.hits,
        "reserved_bytes.all.current": current + found.kept,
    }


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The counts as a table to print."""
    found = _memory.counts()
    rows = [
        ("in use", _size(max(0, found.current))),
        ("most in use", _size(found.peak)),
        ("freed and kept for use again", _size(found.kept)),
    ]
    if not abbreviated:
        rows += [
            ("allocated in all", _size(found.allocated)),
            ("allocations", f"{found.allocations:,}"),
            ("frees", f"{found.frees:,}"),
            ("allocations served by kept blocks", f"{found.hits:,}"),
        ]
    ruler = "+" + "-" * 36 + "+" + "-" * 18 + "+"
    return "\n".join(
        [ruler, f"| {'memory of arrays':<34} | {'':>16} |", ruler, *(f"| {a:<34} | {b:>16} |" for a, b in rows), ruler])


def _size(nbytes: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if abs(nbytes) < 1024:
            return f"{nbytes:.0f} {unit}" if unit == "B" else f"{nbytes:.1f} {unit}"
        nbytes /= 1024
    return f"{nbytes:.1f} GiB"


def _unasked() -> bool:
    """``False``: nothing here depends on such instructions."""
    return False


(_is_amx_fp16_supported, _is_amx_tile_supported, _is_avx512_bf16_supported, _is_avx512_supported,
    _is_vnni_supported) = [_unasked] * 5


def __getattr__(name: str) -> Any:
    if name == "amp":
        from importlib import import_module

        return import_module(f"{__name__}.amp")
    import sys

    from ..names.missing import missing

    raise missing(sys.modules[__name__], name)
