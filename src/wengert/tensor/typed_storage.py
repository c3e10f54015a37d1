"""Storages whose elements have a type, from before tensors' memory was bytes: ``TypedStorage``, ``FloatStorage`` and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from .storage import UntypedStorage
from .types import placed

_TYPED = (
    "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
    " * (*, torch.device device, torch.dtype dtype)\n"
    " * (int size, *, torch.device device, torch.dtype dtype)\n"
    " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
    " * (*, UntypedStorage wrap_storage, torch.dtype dtype)"
)


class TypedStorage:
    """A storage whose elements have a type: the old view of a tensor's memory.

    >>> import wengert as torch
    >>> torch.tensor([1.0, 2.0]).storage().tolist()
    [1.0, 2.0]
    """

    __slots__ = ("_dtype", "_untyped_storage")
    is_cuda = is_hpu = is_sparse = False

    def __init__(self, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: dt.dtype | None = None, device: Any = None) -> None:
        if wrap_storage is not None:
            _only_wrapped(_TYPED, args, wrap_storage)
            if dtype is None:
                raise RuntimeError(f"{_TYPED}\nArgument 'dtype' must be specified")
            if device is not None:
                raise RuntimeError(f"{_TYPED}\nArgument 'device' should not be specified when 'wrap_storage' is given")
        if dtype is not None and not isinstance(dtype, dt.dtype):
            raise TypeError(f"{_TYPED}\nArgument 'dtype' must be torch.dtype, not {type(dtype)}")
        kind = dtype or dt.of(dt.default_float())
        if wrap_storage is None:
            if len(args) > 1:
                raise RuntimeError(f"{_TYPED}\nToo many positional arguments")
            wrap_storage = UntypedStorage(_elements(args[0] if args else 0, kind), device=device)
        self._untyped_storage, self._dtype = wrap_storage, kind

    @property
    def _array(self) -> np.ndarray:
        array = self._untyped_storage.array
        if array.dtype == self._dtype.np:
            return array
        item = self._dtype.np.itemsize
        return array.view(np.uint8)[: array.nbytes // item * item].view(self._dtype.np)

    @property
    def dtype(self) -> dt.dtype:
        """The type of the elements."""
        return self._dtype

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return self._untyped_storage.device

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def get_device(self) -> int:
        """The number of the device: -1, as for all that is on the CPU."""
        return -1

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    def __len__(self) -> int:
        return self._array.size

    size = _size = __len__

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    _nbytes = nbytes

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def element_size(self) -> int:
        """Bytes per element."""
        return self._dtype.np.itemsize

    _element_size = element_size

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    _data_ptr = data_ptr

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._array.tolist()

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(key, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(key)}")
        if not -len(self) <= key < len(self):
            raise IndexError(f"index {key} out of range for storage of size {len(self)}")
        return self._array[key].item()

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(key)}")
        if isinstance(value, (TypedStorage, UntypedStorage)):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        if isinstance(key, int) and not -len(self) <= key < len(self):
            raise IndexError(f"index {key} is out of bounds for dimension 0 with size {len(self)}")
        self._array[key] = value

    def fill_(self, value: Any) -> TypedStorage:
        """Write one value everywhere."""
        self[0 : len(self)] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Write the bytes of another storage of the same size."""
        self._untyped_storage.copy_(source.untyped(), bool(non_blocking))
        return self

    def clone(self) -> TypedStorage:
        """A copy."""
        return self._of(self._untyped_storage.clone())

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        from copy import deepcopy

        return self._of(deepcopy(self._untyped_storage, memo))

    def __reduce__(self) -> Any:
        return restored, (self._untyped_storage, self._dtype.name)

    def _of(self, memory: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=memory, dtype=self._dtype)

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    __hash__ = object.__hash__

    def resizable(self) -> bool:
        """Whether :meth:`resize_` works."""
        return True

    def resize_(self, size: int) -> None:
        """Make the storage ``size`` elements long; tensors that look at it keep the memory that they have."""
        self._untyped_storage.resize_(size * self.element_size())

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """The storage on another device."""
        return self if placed(device) is None else TypedStorage(len(self), dtype=self._dtype, device=device)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the type, such as ``"torch.FloatStorage"``; or the bytes as a storage of bytes, for ``"torch.UntypedStorage"``."""
        if dtype is None:
            return f"torch.{dt.scalar_name(self._dtype.np)}Storage"
        raise TypeError("a storage is converted by float(), long() and their kin")

    def _get_legacy_storage_class(self) -> Any:
        return LEGACY_STORAGES.get(f"{dt.scalar_name(self._dtype.np)}Storage")

    def pickle_storage_type(self) -> str:
        """The name of the old class, such as ``"FloatStorage"``, which files hold."""
        return f"{dt.scalar_name(self._dtype.np)}Storage"

    def is_shared(self) -> bool:
        """Whether other processes see the memory."""
        return self._untyped_storage.is_shared()

    _is_shared = is_shared

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked."""
        return False

    def share_memory_(self) -> TypedStorage:
        """Move to memory that other processes see as well, with the tensors that look at it."""
        self._untyped_storage.share_memory_()
        return self

    _share_memory_ = share_memory_

    def pin_memory(self, device: Any = None) -> TypedStorage:
        """Accepted for compatibility: host memory needs no pinning on the CPU."""
        return self

    def cpu(self) -> TypedStorage:
        """The storage itself: it is on the CPU."""
        return self

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """The storage on a GPU."""
        self._untyped_storage.cuda(device)
        return self

    @classmethod
    def from_buffer(cls, *args: Any, **kwargs: Any) -> TypedStorage:
        """A copy of the memory of a buffer, given a ``dtype``; see :meth:`UntypedStorage.from_buffer`."""
        dtype: Any = cls.dtype if isinstance(cls, _Legacy) else kwargs.get("dtype") or dt.uint8
        kwargs["dtype"] = dtype
        return TypedStorage(wrap_storage=UntypedStorage.from_buffer(*args, **kwargs), dtype=dtype)

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """The first ``size`` elements of a file; with ``shared`` what is written to them goes to the file.

        Raises ``RuntimeError`` unless it is asked of a class with an element type, as ``torch.FloatStorage`` is.
        """
        if not isinstance(cls, _Legacy):
            raise RuntimeError("from_file can only be called on derived classes")
        dtype: Any = cls.dtype
        return TypedStorage(wrap_storage=UntypedStorage.from_file(filename, shared, size * dtype.itemsize), dtype=dtype)

    def __repr__(self) -> str:
        rows = "..." if self.device.type == "meta" else " " + "\n ".join(map(str, self.tolist()))
        return f"{rows}\n[torch.storage.TypedStorage(dtype={self._dtype}, device={self.device}) of size {len(self)}]"


def _only_wrapped(signatures: str, args: tuple[Any, ...], storage: Any) -> None:
    """Refuse what cannot stand beside ``wrap_storage=``."""
    if args:
        raise RuntimeError(f"{signatures}\nNo positional arguments should be given when using 'wrap_storage'")
    if not isinstance(storage, UntypedStorage):
        raise TypeError(f"{signatures}\nArgument 'wrap_storage' must be UntypedStorage, but got {type(storage)}")


def _elements(given: Any, kind: dt.dtype) -> np.ndarray:
    """Memory for so many elements, or the elements of a sequence."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        return np.empty(int(given), kind.np)
    if isinstance(given, str):
        raise TypeError("new(): invalid data type 'str'")
    if not isinstance(given, (Sequence, np.ndarray)):
        raise TypeError(f"{_TYPED}\nArgument type not recognized: {type(given)}")
    return np.array(given, kind.np).reshape(-1)


def restored(storage: UntypedStorage, dtype: str) -> TypedStorage:
    """The storage that a plain pickle holds as its bytes and the name of its type."""
    return TypedStorage(wrap_storage=storage, dtype=dt.by_name(dtype))


def _converted(name: str) -> Any:
    def convert(self: TypedStorage) -> TypedStorage:
        kind = dt.by_name(name)
        return TypedStorage(wrap_storage=UntypedStorage(self._array.astype(kind.np)), dtype=kind)

    convert.__doc__ = f"The elements as {name}."
    return convert


class _Legacy(type):
    """What ``torch.FloatStorage`` is: typed storages of one type, which it makes and recognizes, but which are not of its class."""

    dtype: dt.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is TypedStorage and instance.dtype is cls.dtype

    def __call__(cls, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None) -> TypedStorage:
        signatures = (
            f"{cls}.__new__ received an invalid combination of arguments. Expected one of:\n"
            " * no arguments\n * (int size)\n * (Sequence data)\n * (*, UntypedStorage wrap_storage)"
        )
        for word, value in (("device", device), ("dtype", dtype)):
            if value is not None:
                raise RuntimeError(f"{signatures}\nKeyword argument '{word}' cannot be specified")
        if wrap_storage is not None:
            _only_wrapped(signatures, args, wrap_storage)
        elif len(args) > 1:
            raise RuntimeError(f"{signatures}\nToo many positional arguments")
        elif args and not isinstance(args[0], (int, Sequence, np.ndarray)):
            raise TypeError(f"{signatures}\nArgument type not recognized: {type(args[0])}")
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype)


TypedStorage.__module__ = "torch.storage"
_CONVERSIONS = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "complex_float": "complex64", "complex_double": "complex128",
    "long": "int64", "int": "int32", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool",
}  # fmt: skip
LEGACY_STORAGES: dict[str, Any] = {}
for _method, _name in _CONVERSIONS.items():
    setattr(TypedStorage, _method, _converted(_name))
    _class = f"{dt.SCALAR_NAMES[_name]}Storage"
    LEGACY_STORAGES[_class] = _Legacy(_class, (TypedStorage,), {"__slots__": (), "dtype": dt.by_name(_name), "__module__": "torch"})
globals().update(LEGACY_STORAGES)
