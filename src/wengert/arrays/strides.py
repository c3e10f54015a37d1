"""Strides and storage offsets: PyTorch's strides for views of NumPy arrays, and other views of the same memory.

NumPy chooses arbitrary strides along dimensions of size one. Users can read strides, so views get PyTorch's here; no
computation depends on them.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from . import kernels as K
from .array_likes import FOREIGN, has_memory
from .layouts import blank, order_of, strides_for
from .lazy import address, window

_INDICES = np.dtype(np.int64)


def memory_of(a: Any) -> Any:
    """The whole memory that ``a`` is a view of, as bytes in one dimension."""
    if type(a) in FOREIGN:
        return a.look((a.owner.nbytes,), (1,), 0, np.dtype(np.uint8))
    root = a
    while isinstance(root.base, np.ndarray):
        root = root.base
    return (root.reshape(-1) if root.flags.c_contiguous else root.ravel("K")).view(np.uint8)


def start_of(a: Any) -> int:
    """Where ``a`` begins in its memory, in bytes."""
    if type(a) in FOREIGN:
        return a.start()  # type: ignore[no-any-return]
    return 0 if type(a) is np.ndarray and a.base is None else address(a) - address(memory_of(window(a)))


def look(a: Any, shape: Any, strides: Any, start: int) -> Any:
    """The memory of ``a`` with this shape, steps and beginning (in bytes); ``ValueError`` if that leaves the memory."""
    if 0 in shape:
        strides, start = None, 0
    if type(a) in FOREIGN:
        return a.look(shape, strides, start)
    return np.ndarray(shape, a.dtype, memory_of(a), start, strides)


def resized_window(a: Any, shape: tuple[int, ...]) -> Any:
    """The memory of ``a`` from its first element in another shape, contiguous; None where there is too little of it."""
    memory, start = memory_of(a), start_of(a)
    if start + prod(shape) * a.itemsize > memory.size:
        return None
    return look(a, shape, [s * a.itemsize for s in strides_for(shape, range(len(shape)))], start)


def geometry(a: Any) -> tuple[Any, ...]:
    """``(shape, strides, offset)`` of an array in its memory, counted in elements."""
    return a.shape, steps(a), start_of(a) // a.itemsize


def steps(a: Any) -> tuple[int, ...]:
    """The strides of ``a`` in elements, along dimensions of size one as if there were more elements."""
    if (not a.size and not any(a.strides)) or (a.base is None and a.flags.c_contiguous):
        return strides_for(a.shape, range(a.ndim))
    item = a.itemsize
    return tuple([s // item for s in a.strides])


def _plain(a: Any) -> bool:
    """Whether NumPy's reshape gives ``a`` PyTorch's strides: its elements lie in order."""
    return not has_memory(a) or (a.flags.c_contiguous and (a.base is None or 1 not in a.shape)) or not a.size


def with_strides(a: Any, strides: Any) -> Any:
    """``a``, a view, with these strides in elements."""
    return (a if not a.size or tuple([s * a.itemsize for s in strides]) == a.strides
        else K.restrided(a, a.shape, strides))


def with_reshape_strides(found: Any, a: Any) -> Any:
    """``found``, NumPy's reshape of ``a`` to sizes with a one, with PyTorch's strides if it is a view."""
    if _plain(a) or not (found.base is a or (a.base is not None and found.base is a.base)):
        return found
    if a.flags.c_contiguous and a.strides[-1:] == (a.itemsize,) and found.shape != a.shape:
        return found  # one run, which NumPy cuts as PyTorch does
    return with_strides(found, _merged(a.shape, steps(a), found.shape))


def _merged(old: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...]) -> list[int]:
    """The strides of a view in the shape ``new``: each run of dimensions that lie evenly in memory is cut anew."""
    row, at = [1] * len(new), len(new) - 1
    if not old:
        return row
    step, run, taken = strides[-1], 1, 1
    for d in range(len(old) - 1, -1, -1):
        run *= old[d]
        if d == 0 or (old[d - 1] != 1 and strides[d - 1] != run * step):
            while at >= 0 and (taken < run or new[at] == 1):
                row[at] = taken * step
                taken *= new[at]
                at -= 1
            if d:
                step, run, taken = strides[d - 1], 1, 1
    return row


def with_dimension(a: Any, at: int) -> Any:
    """``a`` with a dimension of size one before its dimension ``at``."""
    shape = a.shape
    sizes = (*shape[:at], 1, *shape[at:])
    if _plain(a):
        return a.reshape(sizes)
    row = steps(a)
    return K.restrided(a, sizes, (*row[:at], shape[at] * row[at] if at < len(shape) else 1, *row[at:]))


def part(a: Any, key: tuple[Any, ...]) -> Any:
    """``a[key]`` of integers, slices, None, an Ellipsis; the stride of a new dimension spans the next of ``a``."""
    if None not in key or not has_memory(a):
        return a[key]
    shape = a.shape
    if _plain(a):
        sizes, at = [], 0
        for k in key:
            if k is None:
                sizes.append(1)
            elif type(k) is slice and k.start is None and k.stop is None and k.step is None:
                sizes.append(shape[at])
                at += 1
            elif k is Ellipsis and k is key[-1]:
                return a.reshape((*sizes, *shape[at:]))
            else:
                break
    row, at, new = steps(a), 0, []
    for k in key:
        if k is None:
            new.append(shape[at] * row[at] if at < a.ndim else 1)
        elif k is Ellipsis:
            rest = a.ndim - sum([k is not None and k is not Ellipsis for k in key])
            new += row[at : at + rest]
            at += rest
        else:
            if type(k) is slice:
                new.append(row[at] * (k.step or 1))
            at += 1
    return with_strides(a[key], (*new, *row[at:]))


def taken(found: Any, a: Any, indices: Any) -> Any:
    """``found``, taken from ``a`` by ``indices`` (None: a whole dimension), in the order of PyTorch's iterator."""
    if a.flags.c_contiguous and all(i is None or i.flags.c_contiguous for i in indices):
        if found.flags.c_contiguous and 1 not in found.shape and found.size:
            return found
        return (with_strides(found, strides_for(found.shape, range(found.ndim))) if found.flags.c_contiguous
            else found.copy())
    row = steps(a)
    at = [d for d, i in enumerate(indices) if i is not None]
    arrays = np.broadcast_arrays(*[indices[d] for d in at])
    rest = [d for d in range(a.ndim) if d not in at]
    before = [d for d in rest if d < at[0]] if at[-1] - at[0] == len(at) - 1 else []
    after, depth = rest[len(before) :], arrays[0].ndim
    operands = [[row[d] for d in before] + [0] * depth + [row[d] for d in after]]
    operands += [[0] * len(before) + list(i.strides) + [0] * len(after) for i in arrays]
    strides = strides_for(found.shape, order_of(found.shape, operands))
    if not found.size or tuple([s * found.itemsize for s in strides]) == found.strides:
        return found[...]  # whose strides count, unlike those of an array with memory of its own
    out = blank(found.shape, found.dtype, strides, like=found)
    out[...] = found
    return out


def taken_whole(a: Any, indices: Any) -> Any:
    """What lies at one array of indices after whole dimensions (None) of ``a``: NumPy's ``take`` copies what follows as
    it lies. None of other indices, and where the order of dimensions would be another; how far apart those in order lie
    does not matter.
    """
    index = indices[-1] if indices else None
    if (type(index) is not np.ndarray or index.dtype is not _INDICES or type(a) is not np.ndarray
            or not (index.flags.c_contiguous or index.ndim == 1 or _descends(index.shape, index.strides))
            or len(indices) > a.ndim or a.dtype.kind not in "fiubc"
            or any(i is not None for i in indices[:-1])):
        return None
    d = len(indices) - 1
    if a.flags.c_contiguous:
        return slices_at(a, d, index)
    if index.ndim != 1 or index.size * 4 < a.shape[d]:  # else it may be copied as a whole
        return None
    if not _descends(a.shape[:d] + a.shape[d + 1 :], a.strides[:d] + a.strides[d + 1 :]):
        return None
    order = sorted(range(a.ndim), key=a.strides.__getitem__, reverse=True)
    if order == list(range(a.ndim)) or a.size < _MANY:
        return slices_at(a, d, index)
    found = slices_at(a.transpose(order), order.index(d), index)
    return K.in_order(found.transpose(sorted(range(a.ndim), key=order.__getitem__)))


_MANY = 4096


def slices_at(a: np.ndarray, d: int, index: np.ndarray) -> np.ndarray:
    """``a.take(index, d)``: of the last dimension of many rows by a kernel, as NumPy copies number by number."""
    if (not 0 < d == a.ndim - 1 or a.size < _MANY or not K.available or index.dtype is not _INDICES or index.ndim != 1
            or not index.flags.c_contiguous or not index.size or a.dtype.itemsize > 8
            or not K.within(index, 0, a.shape[d] - 1)):
        return a.take(index, d)
    places = K.restrided(index, (*a.shape[:-1], index.size), (0,) * d + (1,))
    return K.take_along(np.ascontiguousarray(a), d, places)


def _descends(shape: tuple[int, ...], steps: tuple[int, ...]) -> bool:
    """Whether numbers lie row by row, with gaps, so that no other order of the dimensions is possible."""
    return 1 not in shape and min(steps, default=1) > 0 and all(s > t for s, t in pairwise(steps))


def expanded(a: Any, sizes: tuple[int, ...]) -> Any:
    """``a`` with its elements repeated without a copy; ``sizes`` fit."""
    if not a.ndim and has_memory(a):
        return K.restrided(a, sizes, (0,) * len(sizes))
    if not has_memory(a) or not a.size:
        y = np.broadcast_to(a, sizes)
        if a.flags.writeable:
            y.flags.writeable = True  # parts of it may be written to, if no two of their elements share memory
        return y
    shape, row = a.shape, steps(a)
    new = len(sizes) - len(shape)
    found = [row[d] if shape[d] == sizes[d + new] else 0 for d in range(len(shape))]
    for d in range(new - 1, -1, -1):
        found.insert(0, sizes[d + 1] * found[0] if sizes[d] == 1 and found else 0)
    return K.restrided(a, sizes, found)
