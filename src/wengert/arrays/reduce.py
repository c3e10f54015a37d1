"""Reductions in PyTorch's precision."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from . import kernels as K
from .array_likes import as_array, in_rows
from .dtypes import is_half

_WORTH_FOLDING = 2048  # below, NumPy's way in is as short
_plus: Any = np.add.reduce  # called with positional arguments, which NumPy's type stubs lack


_SINGLE, _COMPLEX = np.dtype(np.float32), np.dtype(np.complex64)


def wide_type(d: np.dtype) -> Any:
    """The type to accumulate in: half-precision sums are carried in float32, or complex64."""
    return _SINGLE if d.itemsize == 2 and d.kind in "fV" else _COMPLEX if d.kind == "W" else None


def sortable(a: np.ndarray) -> np.ndarray:
    """``a`` for NumPy's sorts, which leave bfloat16 with NaN unsorted: as float32."""
    return a.astype(np.float32) if a.dtype.kind == "V" else a


def in_doubles(x: Any) -> bool:
    """Whether ``x`` is float32 or float64 in C order, which is brought down in double precision."""
    return x.dtype.kind == "f" and x.dtype.itemsize > 2 and x.flags.c_contiguous  # type: ignore[no-any-return]


def add_up(x: Any, axis: Any, keepdims: Any = False) -> Any:
    """The sum of floating-point or complex numbers in their own type."""
    if x.flags.c_contiguous and (x.dtype.kind == "c" or (x.dtype.kind == "f" and x.dtype.itemsize > 2)):
        return K.sum(x, axis, keepdims)
    found = in_memory_order(K.sum, x, axis, keepdims) if x.dtype.char in "fdFD" else None
    if found is not None:
        return found
    return _plus(x, axis, None, None, keepdims)


_native: Any = getattr(K._native, "_kernels", None)
_AS_IT_LIES: dict[Any, Any] = {K.sum: _native.sum, K.mean: _native.mean} if K.available else {}
_WORTH_TURNING = 1024


def in_memory_order(kernel: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    """A reduction of an array whose dimensions lie in another order in memory, without gaps: in that order. None of
    small or other ones.
    """
    n, quickly = x.ndim, _AS_IT_LIES.get(kernel)
    found = NotImplemented if quickly is None else quickly(x, axis, keepdims)
    if found is not NotImplemented:
        return found
    if type(x) is not np.ndarray or x.size < _WORTH_TURNING or not K.available or axis is None or x.dtype.kind == "c":
        return None
    order = sorted(range(n), key=x.strides.__getitem__, reverse=True)
    turned = x.transpose(order)
    if not turned.flags.c_contiguous:
        return None
    gone = {d + n if d < 0 else d for d in ((axis,) if type(axis) is int else axis)}
    if not gone <= {*order}:
        return None
    y = kernel(turned, tuple([i for i, d in enumerate(order) if d in gone]), False)
    rest = [d for d in order if d not in gone]
    if rest:
        y = in_rows(y.transpose([rest.index(d) for d in sorted(rest)]))
    return y.reshape([1 if d in gone else size for d, size in enumerate(x.shape)]) if keepdims else y


def fold(x: Any, axis: Any, keepdims: Any, kind: int) -> Any:
    """``K.fold_rows`` of floating-point numbers over axes that follow each other, the last group first; None where that
    does not fit.
    """
    if x.size < _WORTH_FOLDING or not K.available or not (in_doubles(x) or (is_half(x.dtype) and x.flags.c_contiguous)):
        return None
    n, shape = x.ndim, x.shape
    axes = [*range(n)] if axis is None else sorted(
        [a + n if a < 0 else a for a in ((axis,) if type(axis) is int else axis)])
    if not axes or len({*axes}) < len(axes) or not 0 <= axes[0] <= axes[-1] < n:
        return None  # or NumPy says it best
    end = len(axes)
    while end:
        begin = end - 1
        while begin and axes[begin - 1] == axes[begin] - 1:
            begin -= 1
        # the axes behind these are there no more, or of results
        x = K.fold_rows(x, prod(shape[: axes[begin]]), kind, prod(
            [shape[i] for i in range(axes[end - 1] + 1, n) if i not in axes]))
        end = begin
    return x.reshape([1 if i in axes else size for i, size in enumerate(shape) if keepdims or i not in axes])


def truth(ufunc: Any, x: Any, axes: Any, keepdims: Any) -> Any:
    """``logical_and`` or ``logical_or`` of truth values over ``axes``: of short rows column by column, since NumPy
    takes a call for each row.
    """
    n = x.shape[-1] if x.ndim else 0
    if axes not in (-1, x.ndim - 1, (x.ndim - 1,)) or not 1 < n <= 8 or x.size < _WORTH_FOLDING:
        return as_array(ufunc.reduce(x, axes, None, None, keepdims))
    found = ufunc(x[..., 0], x[..., 1])
    for k in range(2, n):
        ufunc(found, x[..., k], found)
    return found[..., None] if keepdims else found


def add_slices(x: Any, axis: int) -> Any:
    """The sum over an axis of a few slices, each added as a whole."""
    at = (slice(None),) * axis
    total = x[(*at, 0)] + x[(*at, 1)]
    for k in range(2, x.shape[axis]):
        total += x[(*at, k)]
    return total


def sum_halves(x: Any, axis: Any, keepdims: Any = False) -> Any:
    """The sum of float16 or bfloat16, carried in float32 at least and rounded once; of complex32 likewise."""
    if x.dtype.kind != "W" and x.flags.c_contiguous and K.available:
        return K.sum(x, axis, keepdims)
    return as_array(_plus(x, axis, wide_type(x.dtype), None, keepdims)).astype(x.dtype)


def sum_to(g: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Sum the axes that broadcasting ``shape`` to ``g.shape`` added or stretched."""
    if type(g) is not np.ndarray and hasattr(type(g), "sum_to"):  # a sparse array
        return g.sum_to(shape)
    extra = g.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(shape) if n == 1 and g.shape[i + extra] != 1)
    if axes:
        g = (sum_halves(g, axes) if wide_type(g.dtype) else add_up(g, axes) if g.dtype.kind in "fc"
            else _plus(g, axes).astype(g.dtype, copy=False))
    return as_array(g).reshape(shape)


def add_at_places(out: Any, indices: Any, values: Any) -> bool:
    """Add where whole numbers name places of dimensions that follow each other, and the rest is whole; whether that
    was so.
    """
    named = [i for i in indices if i is not None]
    n, before, half = len(named), next(d for d, i in enumerate(indices) if i is not None), is_half(out.dtype)
    if (not out.size or (half and not K.available) or not (half or out.dtype.kind in "fc")
            or ((n > 1 or before) and not out.flags.c_contiguous)
            or not all(i.dtype.kind in "iu" for i in named)
            or (n > 1 and any(i is None for i in indices[before : before + n]))):
        return False
    outer, shape = out.shape[:before], out.shape[before : before + n]
    try:
        places: Any = named[0] if n == 1 else _flat_places(named, shape)
        rest = out.shape[before + n :]
        wanted = (*outer, *places.shape, *rest)
        values = in_rows(values if values.shape == wanted else np.broadcast_to(values, wanted))
        if before:
            lines, inner = prod(outer), prod(rest)
            add_to_each(out.reshape(lines, prod(shape), inner), places, values.reshape(lines, places.size, inner))
        else:
            K.add_at(out.reshape(-1, *rest), places, values)
    except IndexError:  # which NumPy explains
        return False
    return True


def in_each(places: Any, lines: int, n: int) -> Any:
    """``places`` of ``lines`` lines of ``n`` elements as those of all lines behind each other."""
    if lines == 1:
        return places
    places = places.reshape(-1)
    if not K.within(places, 0, n - 1):
        if not K.within(places, -n, n - 1):
            raise IndexError("index out of range in self")
        places = places % n
    return (np.arange(0, lines * n, n)[:, None] + places).reshape(-1)


def add_to_each(out: Any, places: Any, values: Any) -> None:
    """Add ``values`` ``(lines, m, inner)`` at ``places`` of each line to contiguous ``out`` ``(lines, n, inner)``."""
    lines, n, inner = out.shape
    if lines > 1 and type(out) is np.ndarray and out.dtype.char in "fd" and K.within(places, 0, n - 1):
        shared = K.restrided(in_rows(places.reshape(-1)), values.shape, (0, 1, 0))
        K.add_along(out, 1, shared, values)
    else:
        K.add_at(out.reshape(-1, inner), in_each(places, lines, n), values.reshape(-1, inner))


def _flat_places(named: Any, shape: tuple[int, ...]) -> Any:
    """Indices of several dimensions as one of all of them together."""
    try:
        return np.ravel_multi_index(named, shape[: len(named)])
    except ValueError:  # some count from the end, or are wrong
        pass
    if not all(K.within(i, -size, size - 1) for i, size in zip(named, shape)):
        raise IndexError
    return np.ravel_multi_index([np.where(i < 0, i + size, i) for i, size in zip(named, shape)], shape[: len(named)])
