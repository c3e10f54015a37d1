"""Reductions in PyTorch's precision."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from . import kernels as K
from .array_likes import as_array
from .plain.shortcuts import SQUARES

_WORTH_FOLDING = 2048  # below, NumPy's way in is as short, but for squares, which take it twice
_plus: Any = np.add.reduce  # called with positional arguments, which NumPy's type stubs lack


def wide_type(d: np.dtype) -> Any:
    """The type to accumulate in: half-precision sums are carried in float32, or complex64."""
    return np.float32 if d.itemsize == 2 and d.kind in "fV" else np.complex64 if d.kind == "W" else None


def sortable(a: np.ndarray) -> np.ndarray:
    """``a`` for NumPy's sorts, which leave bfloat16 with NaN unsorted: as float32."""
    return a.astype(np.float32) if a.dtype.kind == "V" else a


def add_up(x: Any, axis: Any, keepdims: Any = False) -> Any:
    """The sum of floating-point or complex numbers in their own type."""
    if x.dtype.kind == "f" and x.dtype.itemsize > 2 and x.flags.c_contiguous:
        return K.sum(x, axis, keepdims)
    return _plus(x, axis, None, None, keepdims)


def fold(x: Any, axis: Any, keepdims: Any, kind: int) -> Any:
    """``K.fold_rows`` of float32 or float64 along the last axes; None where that does not fit."""
    if (x.size < (1 if kind == SQUARES else _WORTH_FOLDING) or x.dtype.kind != "f" or x.dtype.itemsize == 2
            or not x.flags.c_contiguous or not K.available):
        return None
    n = x.ndim
    folded = n if axis is None else 1 if type(axis) is int else len(axis)
    if (axis is not None
            and sorted([a % n for a in ((axis,) if type(axis) is int else axis)]) != list(range(n - folded, n))):
        return None
    rows, kept = x.shape[: n - folded], (1,) * folded if keepdims else ()
    return K.fold_rows(x, prod(rows), kind).reshape(rows + kept)


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
