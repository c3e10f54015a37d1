"""Storages: the flat memory that tensors are windows of, taken from NumPy arrays and turned back into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.array_likes import has_memory, new_filled
from ..arrays.devices import moved
from ..arrays.lazy import address
from ..tensor.types import CPU, META
from ..tensor.types import device as device_type
from .devices import array_class, device_of, placed
from .memory import STORAGES, array_at, block_of, file_array, place_and_type, place_of

if TYPE_CHECKING:
    from collections.abc import Callable


class Memory:
    """What storages of bytes and of typed elements have in common: the flat memory that tensors look at."""

    __slots__ = ()
    is_hpu = is_sparse = is_sparse_csr = False
    is_cuda = property(lambda self: self.device.type == "cuda")

    untyped: Callable[[], UntypedStorage]
    tolist: Callable[[], list[Any]]

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return META if self.untyped().meta else device_of(self.untyped().array)

    def nbytes(self) -> int:
        """The number of bytes."""
        return self.untyped().array.nbytes

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def data_ptr(self) -> int:
        """The address of the first byte."""
        storage = self.untyped()
        if storage.wrapped:
            raise RuntimeError("Attempted to access the data pointer on an invalid python storage.")
        return 0 if storage.meta else address(storage.array)

    def is_shared(self) -> bool:
        """Whether other processes see the memory."""
        return block_of(self.untyped().array) is not None

    def share_memory_(self) -> Self:
        """Move to memory that other processes see as well, with the tensors that look at it."""
        from .shared_memory import share_storage

        share_storage(self.untyped())
        return self

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def cpu(self) -> Self:
        """The storage on the CPU: itself if it is there."""
        return self.to(CPU)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Self:
        """The storage on a GPU: itself if it is there."""
        where = device_type("cuda") if device is None else device_type(device)
        if where.type != "cuda":
            raise ValueError(f"Invalid device, must be cuda device, but got {where}")
        return self.to(where)

    def to(self, device: Any, non_blocking: bool = False) -> Self:
        """The storage on a device: itself if it is there, else a copy."""
        raise NotImplementedError

    def _shown(self, what: str, size: int) -> str:
        rows = "..." if self.device is META else " " + "\n ".join(map(str, self.tolist()))
        return f"{rows}\n[torch.storage.{what}device={self.device}) of size {size}]"


class UntypedStorage(Memory):
    """A flat piece of memory, as files hold it and ``map_location`` functions see it.

    ``array`` is one-dimensional and contiguous; its type is that of the tensors which look at it, but sizes here
    count bytes. :func:`storage_of` gives one object per memory for as long as it is in use.
    """

    __slots__ = ("__weakref__", "array", "meta", "wrapped")

    def __init__(self, array: Any = 0, *, device: Any = None) -> None:
        if not has_memory(array):  # a number of bytes, or the bytes
            array = np.zeros(array, np.uint8) if isinstance(array, int) else _bytes(array)
        where = None if device is None else placed(device)
        # whether tensors that look at it are on the device without numbers
        self.meta = where is not None and where.type == "meta"
        self.array = array if where is None or self.meta else moved(array, array_class(where))
        self.wrapped = False  # whether it is of a tensor that has no memory, and whose class answers for it

    @property
    def _cdata(self) -> int:
        return 0 if self.meta else address(self.array)

    @property
    def dtype(self) -> dt.dtype:
        """The type of the tensors that look at this memory."""
        return dt.of(self.array.dtype)

    def get_device(self) -> int | None:
        """The number of the device: None, as it has none on the CPU."""
        return self.device.index  # type: ignore[no-any-return]

    def to(self, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """The storage on a device: itself if it is there, else a copy."""
        array = moved(self.array, array_class(placed(device)))
        return self if array is self.array else UntypedStorage(array)

    def element_size(self) -> int:
        """1: the elements are bytes."""
        return 1

    size = __len__ = Memory.nbytes

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
        self.bytes()[...] = moved(source.bytes(), type(self.array))
        return self

    def resizable(self) -> bool:
        """Whether :meth:`resize_` works."""
        return True

    def resize_(self, size: int) -> UntypedStorage:
        """Make the storage ``size`` bytes long; tensors that look at it keep the memory that they have."""
        kept = new_filled(self.array, np.zeros, size, np.uint8)
        kept[: self.nbytes()] = self.bytes()[:size]
        self.array = kept if size % self.array.itemsize else kept.view(self.array.dtype)
        return self

    def byteswap(self, dtype: dt.dtype) -> None:
        """Turn the order of the bytes in every element of ``dtype`` around."""
        parts = self.array.view(dtype.to_real().np if dtype.is_complex else dtype.np)
        parts.byteswap(inplace=True)

    @classmethod
    def from_buffer(cls, buffer: Any, byte_order: str = "", count: int = -1, offset: int = 0, *,
            dtype: dt.dtype = dt.uint8) -> UntypedStorage:
        """A copy of the bytes of ``buffer`` from ``offset`` on: ``count`` elements of ``dtype``.

        ``byte_order`` says how they lie there: ``"little"``, ``"big"`` or ``"native"``; single bytes need none. Raises
        ``ValueError`` where the sizes do not fit.
        """
        if not byte_order and dtype.itemsize > 1:
            raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
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
        if byte_order not in ("", "little", "native"):
            found.byteswap(dtype)
        return found

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first ``nbytes`` bytes of a file; with ``shared`` what is written to them goes to the file."""
        return cls(file_array(filename, shared, nbytes, np.dtype(np.uint8)))

    def new(self) -> UntypedStorage:
        """An empty storage of the same kind."""
        return type(self)(0)

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

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked."""
        return False

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def __setitem__(self, key: Any, value: int) -> None:
        self.bytes()[key] = value

    def __getitem__(self, key: Any) -> Any:
        memory = self.bytes()
        if not isinstance(key, (int, slice)):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(key).__name__}")
        if isinstance(key, int) and not -memory.size <= key < memory.size:
            raise IndexError(f"index {key} out of range for storage of size {memory.size}")
        found = memory[key]
        return UntypedStorage(found) if isinstance(key, slice) else int(found)

    def __reduce__(self) -> Any:
        # ml_dtypes need not be there when a pickle is read, so their elements go as integers.
        array = moved(self.array, np.ndarray)
        plain = array if array.dtype.kind in "biufc" else array.view(f"u{array.itemsize}")
        where = self.device
        return restored, (plain, self.dtype.name, *(() if where in (CPU, META) else (str(where),)))

    def __repr__(self) -> str:
        return self._shown("UntypedStorage(", self.nbytes())


def _bytes(given: Any) -> np.ndarray:
    """The integers of a sequence, each modulo 256."""
    if not hasattr(given, "__len__"):
        raise TypeError("torch.UntypedStorage(): argument 'sequence' must be int or a sequence of ints, not "
            f"{type(given).__name__}")
    for item in given:
        if not isinstance(item, (int, np.integer)):
            raise RuntimeError("torch.UntypedStorage(): tried to construct a storage from a sequence "
                f"({type(given).__name__}), but one of the items was of type {type(item).__name__} instead of int")
    return np.array([int(item) & 255 for item in given], np.uint8)


UntypedStorage.__module__ = "torch.storage"


def storage_of(flat: np.ndarray) -> UntypedStorage:
    """The storage of a flat array: the same object for the same memory and type."""
    if not flat.size:
        return UntypedStorage(flat)
    key = place_and_type(flat)
    found = STORAGES.get(key)
    if found is None:
        found = STORAGES[key] = UntypedStorage(flat)
    return found


def restored(array: np.ndarray, dtype: str, where: Any = None) -> UntypedStorage:
    """The storage that a plain pickle holds as an array; ``where``: its device, if that is not the CPU."""
    return UntypedStorage(array.view(dt.by_name(dtype).np), device=where)


def window(array: np.ndarray) -> tuple[UntypedStorage, int, tuple[int, ...]]:
    """The storage that an array looks at, the offset at which it starts and its strides, both in elements."""
    flat, offset, strides = place_of(array)
    return storage_of(flat), offset, strides


def look_at(storage: UntypedStorage, offset: int, size: tuple[int, ...], stride: tuple[int, ...],
        dtype: dt.dtype | None = None) -> np.ndarray:
    """The array of shape ``size`` from ``offset`` elements into a storage on, in its memory: see ``array_at``."""
    return array_at(storage.array, offset, size, stride, dtype)
