"""Copies in another type or order, and views with other strides."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.array_likes import as_copy
from wengert.arrays.float8 import converted

if TYPE_CHECKING:
    from typing import Any

    from wengert.arrays.plain.widen import Array
    from wengert.arrays.plain.windows import Ints


def cast(x: Array, dtype: np.dtype[Any]) -> Array:
    """Return a new array with the values of ``x`` as ``dtype``; to fewer bits they are rounded to nearest even, of
    float64 to 16 bits by way of float32, as PyTorch's.
    """
    if x.dtype == np.float64 and dtype == np.float16:
        x = x.astype(np.float32)
    return converted(x, dtype)


def in_order(x: Array) -> Array:
    """Return a new array in C order with the values of ``x``."""
    return np.array(x, order="C")


def target(x: Array) -> Array | None:
    """Return natively ``x`` itself, if the in-place form of the operator that asks is about to write there: a kernel
    may leave its result there, as ``out``, where nothing is read afterwards. Else, and here, None.
    """
    return None


def to_write(x: Array, order: str) -> Array:
    """Return a copy of ``x`` to write to; natively ``x`` itself, if the in-place form of the operator that asks is
    about to write there. Ask after all that may be wrong has been looked at.
    """
    return as_copy(x, order=order)


def pieces(x: Array, axis: int, sizes: list[int] | int | None) -> list[Array]:
    """Return views of these sizes along ``axis``, one after the other. One size is that of all but the last; without
    one, each place of the axis, which the views have no more.
    """
    before, n = (slice(None),) * axis, x.shape[axis]
    if isinstance(sizes, int):
        sizes = [min(sizes, n - i) for i in range(0, n, max(sizes, 1))] or [0]
    if sizes is None:
        return [np.moveaxis(x, axis, 0)[i, ...] for i in range(n)]
    return [x[(*before, slice(end - n, end))] for n, end in zip(sizes, accumulate(sizes))]


def padded(x: Array, pairs: list[tuple[int, int]], mode: int, value: Any) -> Array | None:
    """Return ``x`` with ``value`` around it (mode 0), or reflected (1), repeated (2) or from the other end (3).

    None where others do it better.
    """
    return None


def unpadded(g: Array, axis: int, n: int, before: int, mode: int) -> Array:
    """Return the gradient of padding an axis of ``n`` places (reflected, repeated or from the other end: 1, 2, 3)."""
    lead, after = (slice(None),) * axis, g.shape[axis] - n - before
    found = as_copy(g[(*lead, slice(before, before + n))])
    for at in (*range(-before, 0), *range(n, n + after)):
        place = (-at if at < 0 else 2 * (n - 1) - at, 0 if at < 0 else n - 1, at % n)[mode - 1]
        found[(*lead, place)] += g[(*lead, before + at)]
    return found


def triangle(x: Array, diagonal: int, upper: bool) -> Array:
    """Return a copy of the matrices in ``x`` with zeros above the diagonal, or (``upper``) below it."""
    return (np.triu if upper else np.tril)(x, diagonal)


def joined(arrays: list[Array], axis: int, stack: bool) -> Array | None:
    """Arrays one after another, in C order, along a new axis (``stack``) or along one that they have; None where their
    types, or the other axes, differ.
    """
    first = arrays[0]
    if any(a.dtype != first.dtype for a in arrays):
        return None
    try:
        found = np.stack(arrays, axis) if stack else np.concatenate(arrays, axis)
    except ValueError:
        return None
    return found if found.flags.c_contiguous else found.copy()


def restrided(x: Array, shape: Ints, strides: Ints) -> Array:
    """Return a view of the memory from where ``x`` begins, with strides in elements; all of it must be there."""
    root = x
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not root.flags.forc or not x.size:
        return np.lib.stride_tricks.as_strided(x, shape, [s * x.itemsize for s in strides])
    memory = (root if root.flags.c_contiguous else root.T).reshape(-1).view(np.uint8)
    start = x.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    found = np.ndarray(shape, x.dtype, memory, start, [s * x.itemsize for s in strides])
    found.flags.writeable = found.flags.writeable and x.flags.writeable
    return found


def triangle_places(rows: int, offset: int, columns: int, lower: bool) -> Array:
    """The places ``(2, n)`` of a triangle of a matrix, row by row; ``offset``: its diagonal, above the main one."""
    column, diagonal = np.arange(columns), np.arange(rows)[:, None] + offset
    flat = np.flatnonzero(column <= diagonal if lower else column >= diagonal)
    places = np.empty((2, len(flat)), np.int64)
    np.floor_divide(flat, max(columns, 1), out=places[0])
    np.subtract(flat, places[0] * columns, out=places[1])
    return places
