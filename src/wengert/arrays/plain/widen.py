"""How elementwise definitions compute: half precision in float32, large arrays by blocks, results like a ufunc's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.array_likes import FOREIGN, as_array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]


def result_type(*arrays: Array) -> np.dtype[Any]:
    """Return the dtype of an elementwise result: NumPy's promotion, with integers and booleans giving float64."""
    dtype = np.result_type(*arrays)
    return np.dtype(np.float64) if dtype.kind in "biu" else dtype


def wide(x: Array) -> Array:
    """Return ``x`` in the precision to compute in: float32 for the half-precision types, float64 for integers."""
    if x.dtype.kind in "biu":
        return x.astype(np.float64)
    # bfloat16 (an ml_dtypes type) is of kind "V" or "f" depending on the version, always of two bytes.
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def parameter(value: float, x: Array) -> Array:
    """Return a number in the precision of ``x``, so that it does not take part in promotion."""
    return np.asarray(value, x.dtype if x.dtype.kind not in "biu" else np.float64)


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


def elementwise(widen: Callable[[Array], Array]) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    """A decorator of functions of arrays (parameters annotated ``Array``) and numbers: the arrays are widened for the
    computation, the result has their common dtype, ``out=`` is taken, and no floating-point conditions are reported.
    """

    def decorate(compute: Callable[..., Array]) -> Callable[..., Array]:
        count = sum(note == "Array" for name, note in compute.__annotations__.items() if name != "return")

        def function(*args: Any, out: Array | None = None) -> Array:
            arrays, numbers = [as_array(a) for a in args[:count]], args[count:]
            dtype = result_type(*arrays)
            with np.errstate(all="ignore"):
                found = by_blocks(lambda *parts: compute(*map(widen, parts), *numbers), arrays, dtype, out)
                if found is not None:
                    return found
                value = as_array(compute(*map(widen, arrays), *numbers))
                # numbers, widened to one dimension, are numbers again
                return deliver(value if any(a.ndim for a in arrays) else value.reshape(()), dtype, out)

        function.__name__ = function.__qualname__ = compute.__name__
        function.__doc__ = compute.__doc__
        return function

    return decorate


in_float64 = elementwise(lambda x: np.atleast_1d(x.astype(np.float64)))  # masks need a dimension


def by_interval(x: Array, *pieces: tuple[Array, Callable[[Array], Array]]) -> Array:
    """Fill an array from functions of subsets of ``x``; what no mask covers stays NaN."""
    value = np.full_like(x, np.nan, np.float64)
    for mask, function in pieces:
        if type(x) in FOREIGN:  # how many there are is not asked: that would wait for the device
            np.copyto(value, function(x), where=mask)
            continue
        if mask.all():
            return as_array(function(x))
        if mask.any():
            value[mask] = function(x[mask])
    return value
