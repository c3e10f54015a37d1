"""Half-precision inputs are computed in float32, and results are delivered the way a NumPy ufunc delivers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.array_likes import FOREIGN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]


def result_type(*arrays: Array) -> np.dtype[Any]:
    """Return the dtype of an elementwise result: NumPy's promotion, with integers and booleans giving float64."""
    dtype = np.result_type(*arrays)
    return np.dtype(np.float64) if dtype.kind in "biu" else dtype


def wide(x: Array, to: type[Any] | None = None) -> Array:
    """Return ``x`` in the precision to compute in: ``to``, or float32 for the half-precision types."""
    if to is not None and x.dtype.kind != "c":
        return x.astype(to, copy=False)
    if x.dtype.kind in "biu":
        return x.astype(np.float64)
    # bfloat16 (an ml_dtypes type) is of kind "V" or "f" depending on the version, always of two bytes.
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def deliver(value: Array, dtype: np.dtype[Any], out: Array | None) -> Array:
    """Return ``value`` as ``dtype``, or write it to ``out`` and return that."""
    if out is None:
        return value.astype(dtype, copy=False)
    out[...] = value
    return out


BLOCK = 1 << 15


def by_blocks(compute: Callable[..., Array], arrays: Sequence[Array], dtype: np.dtype[Any],
        out: Array | None) -> Array | None:
    """Compute an elementwise function of large arrays a block at a time, so that its temporaries are small and stay in
    the cache.

    None, and nothing done, where there is only one block, or the arrays differ in shape or are not contiguous.
    """
    first = arrays[0]
    if first.size <= BLOCK or type(first) in FOREIGN:
        return None
    if any(a.shape != first.shape or not a.flags.c_contiguous for a in arrays):
        return None
    if out is not None and (out.shape != first.shape or not out.flags.c_contiguous):
        return None
    room = np.empty(first.shape, dtype) if out is None else out
    flat, parts = room.reshape(-1), [a.reshape(-1) for a in arrays]
    for start in range(0, first.size, BLOCK):
        here = slice(start, start + BLOCK)
        flat[here] = compute(*[part[here] for part in parts])
    return room
