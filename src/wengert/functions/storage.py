"""Storages: the flat memory that tensors are windows of, taken from NumPy arrays and turned back into them."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import lazy
from ..arrays.lazy import address
from ..tensor.types import CPU, META, placed


class UntypedStorage:
    """A flat piece of memory, as files hold it and ``map_location`` functions see it.

    ``array`` is one-dimensional and contiguous; its type is that of the tensors which look at it, but sizes here
    count bytes. :func:`storage_of` gives one object per memory for as long as it is in use.
    """

    __slots__ = ("__weakref__", "array", "meta", "wrapped")

    def __init__(self, array: Any = 0, *, device: Any = None) -> None:
        if not isinstance(array, np.ndarray):  # a number of bytes, or the bytes
            array = np.zeros(array, np.uint8) if isinstance(array, int) else _bytes(array)
        self.array = array
        # whether tensors that look at it are on the device without numbers
        self.meta = device is not None and placed(device) is not None
        self.wrapped = False  # whether it is of a tensor that has no memory, and whose class answers for it

    @property
    def _cdata(self) -> int:
        return 0 if self.meta else address(self.array)

    @property
    def dtype(self) -> dt.dtype:
        """The type of the tensors that look at this memory."""
        return dt.of(self.array.dtype)

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return META if self.meta else CPU

    is_cuda = is_hpu = is_sparse = is_sparse_csr = False

    def get_device(self) -> None:
        """The number of the device: None, as it has none on the CPU."""

    def element_size(self) -> int:
        """1: the elements are bytes."""
        return 1

    def nbytes(self) -> int:
        """The number of bytes."""
        return self.array.nbytes

    size = __len__ = nbytes

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def data_ptr(self) -> int:
        """The address of the first byte."""
        if self.wrapped:
            raise RuntimeError("Attempted to access the data pointer on an invalid python storage.")
        return 0 if self.meta else address(self.array)

    def bytes(self) -> np.ndarray:
        """The same memory as an array of uint8."""
        if self.meta:
            raise NotImplementedError("Not available for 'meta' device type: there are no bytes")
        return self.array.view(np.uint8)

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        return self.bytes().tolist()

    def fill_(self, value: int) -> UntypedStorage:
        """Write one byte everywhere."""
        self.bytes()[...] = value
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Write the bytes of another storage of the same size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} "
                "bytes")
        self.bytes()[...] = source.bytes()
        return self

    def resizable(self) -> bool:
        """Whether :meth:`resize_` works."""
        return True

    def resize_(self, size: int) -> UntypedStorage:
        """Make the storage ``size`` bytes long; tensors that look at it keep the memory that they have."""
        kept = np.zeros(size, np.uint8)
        kept[: self.nbytes()] = self.bytes()[:size]
        self.array = kept if size % self.array.itemsize else kept.view(self.array.dtype)
        return self

    def byteswap(self, dtype: dt.dtype) -> None:
        """Turn the order of the bytes in every element of ``dtype`` around."""
        parts = self.array.view(dtype.to_real().np if dtype.is_complex else dtype.np)
        parts.byteswap(inplace=True)

    @classmethod
    def from_buffer(cls, buffer: Any, byte_order: str, count: int = -1, offset: int = 0, *,
            dtype: dt.dtype = dt.uint8) -> UntypedStorage:
        """A copy of the bytes of ``buffer`` from ``offset`` on: ``count`` elements of ``dtype``.

        ``byte_order`` says how they lie there: ``"little"``, ``"big"`` or ``"native"``. Raises ``ValueError`` where the
        sizes do not fit.
        """
        memory = np.frombuffer(buffer, np.uint8)
        item = dtype.itemsize
        if count < 0 and (memory.size - offset) % item:
            raise ValueError(f"buffer size ({memory.size}) must be a multiple of element size ({item})")
        if count < 0:
            count = (memory.size - offset) // item
        if offset + count * item > memory.size:
            raise ValueError(f"buffer has only {memory.size - offset} elements after offset {offset}, but specified a "
                f"size of {count}")
        found = cls(memory[offset : offset + count * item].copy())
        if byte_order not in ("little", "native"):
            found.byteswap(dtype)
        return found

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first ``nbytes`` bytes of a file; with ``shared`` what is written to them goes to the file."""
        from .creation import from_file

        return cls(from_file(filename, shared, nbytes, dtype=dt.uint8)._wg_data)

    def new(self) -> UntypedStorage:
        """An empty storage of the same kind."""
        return type(self)(0)

    def share_memory_(self) -> UntypedStorage:
        """Move to memory that other processes see as well, with the tensors that look at it."""
        from .shared_memory import share_storage

        share_storage(self)
        return self

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = "cpu") -> UntypedStorage:
        """A storage of so many bytes in memory that other processes see as well."""
        return cls(size).share_memory_()

    def pin_memory(self, device: Any = "cuda") -> UntypedStorage:
        """Accepted for compatibility: host memory needs no pinning on the CPU."""
        return self

    def clone(self) -> UntypedStorage:
        """A copy."""
        return UntypedStorage(self.array.copy())

    def type(self) -> str:
        """``"torch.storage.UntypedStorage"``."""
        return "torch.storage.UntypedStorage"

    def is_shared(self) -> bool:
        """Whether other processes see the memory."""
        return block_of(self.array) is not None

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked."""
        return False

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def __setitem__(self, key: Any, value: int) -> None:
        self.bytes()[key] = value

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __getitem__(self, key: Any) -> Any:
        memory = self.bytes()
        if not isinstance(key, (int, slice)):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(key).__name__}")
        if isinstance(key, int) and not -memory.size <= key < memory.size:
            raise IndexError(f"index {key} out of range for storage of size {memory.size}")
        found = memory[key]
        return UntypedStorage(found) if isinstance(key, slice) else int(found)

    def cpu(self) -> UntypedStorage:
        """The storage itself: it is on the CPU."""
        return self

    def cuda(self, device: Any = None) -> UntypedStorage:
        """The storage on a GPU."""
        from ..tensor.types import on_cpu

        on_cpu("cuda" if device is None else device)
        return self

    def __reduce__(self) -> Any:
        # ml_dtypes need not be there when a pickle is read, so their elements go as integers.
        array = self.array
        plain = array if array.dtype.kind in "biufc" else array.view(f"u{array.itemsize}")
        return restored, (plain, self.dtype.name)

    def __repr__(self) -> str:
        rows = "..." if self.meta else " " + "\n ".join(map(str, self.tolist()))
        return f"{rows}\n[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


def _bytes(given: Any) -> np.ndarray:
    """The integers of a sequence, each modulo 256."""
    if not hasattr(given, "__len__"):
        raise TypeError("torch.UntypedStorage(): argument 'sequence' must be int or a sequence of ints, not "
            f"{type(given).__name__}")
    for item in given:
        if not isinstance(item, (int, np.integer)):
            raise RuntimeError(
                f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(given).__name__}), "
                f"but one of the items was of type {type(item).__name__} instead of int"
            )
    return np.array([int(item) & 255 for item in given], np.uint8)


UntypedStorage.__module__ = "torch.storage"


_in_use: WeakValueDictionary[Any, UntypedStorage] = WeakValueDictionary()


def storage_of(flat: np.ndarray) -> UntypedStorage:
    """The storage of a flat array: the same object for the same memory and type."""
    if not flat.size:
        return UntypedStorage(flat)
    key = (address(flat), flat.nbytes, flat.dtype)
    found = _in_use.get(key)
    if found is None:
        found = _in_use[key] = UntypedStorage(flat)
    return found


def restored(array: np.ndarray, dtype: str) -> UntypedStorage:
    """The storage that a plain pickle holds as an array."""
    return UntypedStorage(array.view(dt.by_name(dtype).np))


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, that PyTorch gives a contiguous tensor of this shape."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def window(array: np.ndarray) -> tuple[UntypedStorage, int, tuple[int, ...]]:
    """The storage that an array looks at, the offset at which it starts and its strides, both in elements.

    Arrays that share memory get storages of the same memory. An array that no storage, offset and positive strides
    can describe (a reversed view, say) is copied.
    """
    array = lazy.window(array)
    flat, item = _flattened(owner_of(array)), array.itemsize
    if flat is not None:
        whole = flat.nbytes // item
        if flat.dtype != array.dtype:
            flat = flat.view(np.uint8)[: whole * item].view(array.dtype)
        if not array.size:
            return storage_of(flat), 0, row_major(array.shape)
        steps = (address(array) - address(flat), *array.strides)
        if not any(s < 0 or s % item for s in steps):
            offset, *strides = (s // item for s in steps)
            if offset + sum((n - 1) * s for n, s in zip(array.shape, strides)) < whole:
                return storage_of(flat), offset, tuple(strides)
    return UntypedStorage(np.ascontiguousarray(array).reshape(-1)), 0, row_major(array.shape)


class SharedBlock:
    """Memory that other processes map as well (a ``multiprocessing.heap.Arena``), as NumPy takes it; the base of arrays
    of it.
    """

    __slots__ = ("__array_interface__", "address", "arena")

    def __init__(self, arena: Any) -> None:
        self.arena = arena
        self.address = address(np.frombuffer(arena.buffer, np.uint8))
        self.__array_interface__ = {"shape": (arena.size,), "typestr": "|u1", "data": (self.address, False),
            "version": 3}


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


def look_at(storage: UntypedStorage, offset: int, size: tuple[int, ...], stride: tuple[int, ...],
        dtype: dt.dtype | None = None) -> np.ndarray:
    """The array of shape ``size`` that starts ``offset`` elements into a storage; its memory is the storage's.

    Raises ``RuntimeError`` for what lies outside of the storage.
    """
    array = storage.array
    kind = array.dtype if dtype is None else dtype.np
    numbers = (offset, *size, *stride)
    if not all(type(n) is int for n in numbers) or len(size) != len(stride):
        raise RuntimeError(f"a tensor's offset, sizes and strides must be integers, got {offset}, {size}, {stride}")
    if min(numbers) < 0:
        what = "dimension" if min(size, default=0) < 0 else "stride or offset"
        raise RuntimeError(f"Trying to create tensor with negative {what}: sizes {list(size)}, strides {list(stride)}")
    if 0 in size:
        return np.ndarray(size, kind)
    needed = (1 + offset + sum((n - 1) * s for n, s in zip(size, stride))) * kind.itemsize
    if needed > array.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
            f"{kind.itemsize} requiring a storage size of {needed} are out of bounds for storage of size {array.nbytes}"
        )
    # NumPy does not take the memory of an ml_dtypes array as a buffer, so such elements pass as integers.
    plain = kind if kind.kind in "biufc" else np.dtype(f"u{kind.itemsize}")
    memory = array if array.dtype.kind in "biufc" else array.view(f"u{array.itemsize}")
    step = kind.itemsize
    found = np.ndarray(size, plain, memory, offset * step, tuple(s * step for s in stride))
    return found if plain is kind else found.view(kind)
