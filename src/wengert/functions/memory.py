"""The memory that arrays look at: who owns it, where an array lies in it, and the array that lies somewhere in it."""

from __future__ import annotations

import os
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import lazy
from ..arrays.array_likes import FOREIGN, new_filled
from ..arrays.layouts import strides_for
from ..arrays.lazy import address

# The storages in use, by where their memory is and the type of its elements: see ``storage.storage_of``.
STORAGES: WeakValueDictionary[Any, Any] = WeakValueDictionary()


def place_and_type(flat: np.ndarray) -> tuple[Any, ...]:
    """What a storage of ``flat`` is known by."""
    return address(flat), flat.nbytes, flat.dtype


class SharedBlock:
    """A part of memory that other processes map too, which a file is of: the base of NumPy arrays on it."""

    __slots__ = ("__array_interface__", "__weakref__", "address", "file", "size", "start")

    def __init__(self, file: Any, start: int, size: int) -> None:
        self.file, self.start, self.size = file, start, size
        self.address = address(np.frombuffer(file.buffer, np.uint8)) + start
        self.__array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (self.address, False), "version": 3}


def block_of(array: Any) -> SharedBlock | None:
    """The shared memory that an array looks at; None if other processes do not see its memory."""
    base = owner_of(array).base
    return base if type(base) is SharedBlock else None


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array that owns (or first wrapped) the memory which ``array`` looks at."""
    while True:
        base: Any = array.base
        if not isinstance(base, np.ndarray):  # as_strided puts a carrier of its own between
            base = getattr(base, "base", None) if type(base).__name__ == "DummyArray" else None
        if not isinstance(base, np.ndarray):
            return array
        array = base


def _flattened(array: np.ndarray) -> np.ndarray | None:
    """The elements of a dense array in the order of memory, uncopied; None where there are gaps or overlaps."""
    order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    dense = np.asarray(array).transpose(order)
    return dense.reshape(-1) if dense.flags.c_contiguous else None


def place_of(array: Any) -> tuple[np.ndarray, int, tuple[int, ...]]:
    """The flat memory that an array looks at, the offset at which it starts and its strides, both in elements.

    Arrays that share memory get the same. An array that no memory, offset and positive strides can describe (a reversed
    view, say) is copied.
    """
    array = lazy.window(array)
    if type(array) in FOREIGN:
        item = array.itemsize
        flat = array.look((array.owner.nbytes // item,), (item,), 0)
        return flat, array.start() // item, tuple(s // item for s in array.strides)
    flat, item = _flattened(owner_of(array)), array.itemsize
    if flat is not None:
        whole = flat.nbytes // item
        if flat.dtype != array.dtype:
            flat = flat.view(np.uint8)[: whole * item].view(array.dtype)
        if not array.size:
            return flat, 0, strides_for(array.shape, range(array.ndim))
        steps = (address(array) - address(flat), *array.strides)
        if not any(s < 0 or s % item for s in steps):
            offset, *strides = (s // item for s in steps)
            if offset + sum((n - 1) * s for n, s in zip(array.shape, strides)) < whole:
                return flat, offset, tuple(strides)
    return np.ascontiguousarray(array).reshape(-1), 0, strides_for(array.shape, range(array.ndim))


def array_at(array: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...],
        dtype: dt.dtype | None = None) -> np.ndarray:
    """The array of shape ``size`` at ``offset`` elements of the flat ``array``; ``RuntimeError`` outside of it."""
    kind = array.dtype if dtype is None else dtype.np
    numbers = (offset, *size, *stride)
    if not all(type(n) is int for n in numbers) or len(size) != len(stride):
        raise RuntimeError(f"a tensor's offset, sizes and strides must be integers, got {offset}, {size}, {stride}")
    if min(numbers) < 0:
        what = "dimension" if min(size, default=0) < 0 else "stride or offset"
        raise RuntimeError(f"Trying to create tensor with negative {what}: sizes {list(size)}, strides {list(stride)}")
    if 0 in size:
        return new_filled(array, np.empty, size, kind)
    needed = (1 + offset + sum((n - 1) * s for n, s in zip(size, stride))) * kind.itemsize
    if needed > array.nbytes:
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and "
            f"itemsize {kind.itemsize} requiring a storage size of {needed} are out of bounds for storage of size "
            f"{array.nbytes}")
    if type(array) in FOREIGN:
        steps = [s * kind.itemsize for s in stride]
        return array.look(size, steps, array.start() + offset * kind.itemsize, kind)
    # NumPy does not take the memory of an ml_dtypes array as a buffer, so such elements pass as integers.
    plain = kind if kind.kind in "biufc" else np.dtype(f"u{kind.itemsize}")
    memory = array if array.dtype.kind in "biufc" else array.view(f"u{array.itemsize}")
    step = kind.itemsize
    found = np.ndarray(size, plain, memory, offset * step, tuple(s * step for s in stride))
    return found if plain is kind else found.view(kind)


def file_array(filename: Any, shared: bool | None, size: int, d: np.dtype) -> np.ndarray:
    """``size`` elements in the memory of a file, which is written to, and made long enough, if ``shared``."""
    path = os.fspath(filename)
    wanted = size * d.itemsize
    if size < 0:
        raise RuntimeError(f"unable to mmap {wanted} bytes from file <{path}>: Cannot allocate memory (12)")
    try:
        with open(path, "a+b" if shared else "rb") as file:
            found = os.fstat(file.fileno()).st_size
            if found < wanted and shared:
                file.truncate(wanted)
            elif found < wanted:
                raise RuntimeError(f"file <{path}> size <{found}> is smaller than the required mapping size <{wanted}>")
    except OSError as e:
        raise RuntimeError(f"unable to open file <{path}> in {'read-write' if shared else 'read-only'} mode: "
            f"{e.strerror} ({e.errno})") from e
    return np.asarray(np.memmap(path, d, "r+" if shared else "c", shape=(size,))) if size else np.empty(0, d)
