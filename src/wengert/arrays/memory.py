"""How much memory arrays hold: the counts of the native allocation layer (``native/memory.c``).

Where the extension is there, it counts the data of every array that NumPy allocates, in any thread, whoever makes the
array. Memory that NumPy did not allocate (mapped files, arrays of other libraries) is not counted. Without the
extension nothing is: the functions raise ``RuntimeError`` and say why.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from . import kernels

_native: Any = getattr(getattr(kernels, "_native", None), "_kernels", None)

#: Whether array memory is counted.
available: bool = hasattr(_native, "memory_counts")


class Counts(NamedTuple):
    """Bytes in use and the most that was; events and bytes since the beginning; freed bytes kept for use again."""

    current: int
    peak: int
    allocations: int
    frees: int
    allocated: int
    kept: int
    hits: int


def counts() -> Counts:
    """All counts at once."""
    return Counts(*_layer().memory_counts())


def memory_allocated() -> int:
    """Bytes that arrays hold now."""
    return _layer().memory_allocated()  # type: ignore[no-any-return]


def reset_peak() -> None:
    """Let the peak begin at what is in use now."""
    _layer().memory_reset_peak()


def reset_totals() -> None:
    """Let the counts of events and of bytes allocated begin at zero."""
    _layer().memory_reset_totals()


def empty_cache() -> None:
    """Give freed blocks that are kept back to the system. Without the extension none are."""
    if available:
        _native.memory_empty_cache()


def set_cache_limit(nbytes: int) -> None:
    """How many bytes of freed blocks may be kept for use again (1 GiB at first, or ``WENGERT_CACHE_MB``)."""
    _layer().memory_set_limit(nbytes)


def _layer() -> Any:
    if not available:
        raise RuntimeError("array memory is counted by the native extension, which is not in use here: it was not "
            "built, or WENGERT_NATIVE=0 turned it off")
    return _native
