"""How much memory arrays hold: the counts of the native allocation layer.

Where the extension is there, it counts every block that NumPy allocates for the data of an array, in any thread, whoever
makes the array. Without it nothing is counted, and the functions say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import kernels

if TYPE_CHECKING:
    from collections.abc import Callable

_counts: Callable[[], tuple[int, int, int, int]] | None = getattr(getattr(kernels, "_native", None), "memory_counts", None)

#: Whether array memory is counted.
available = _counts is not None


def memory_allocated() -> int:
    """Bytes that arrays hold now."""
    if _counts is None:
        raise RuntimeError(NOT_COUNTED)
    return _counts()[0]


NOT_COUNTED = "array memory is counted by the native extension, which is not in use here (see `wengert.arrays.kernels.available`)"
