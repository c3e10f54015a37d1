"""Storages whose elements have a type, of before tensors' memory was bytes: ``TypedStorage`` and its kin."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from .storage import Memory, UntypedStorage


class TypedStorage(Memory):
    """A storage whose elements have a type: of ``size`` elements, of those of a sequence, or the bytes of
    ``wrap_storage``.

    >>> torch.tensor([1.0, 2.0]).storage().tolist()
    [1.0, 2.0]
    """

    __slots__ = ("_dtype", "_untyped_storage")

    def __init__(self, data: Any = 0, *, wrap_storage: UntypedStorage | None = None, dtype: dt.dtype | None = None,
            device: Any = None) -> None:
        self._dtype = dtype or dt.of(dt.default_float())
        if wrap_storage is None:
            kind = self._dtype.np
            array = (np.empty(int(data), kind) if isinstance(data, (int, np.integer))
                else np.array(data, kind).reshape(-1))
            wrap_storage = UntypedStorage(array, device=device)
        elif not isinstance(wrap_storage, UntypedStorage):
            raise TypeError(f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
        self._untyped_storage = wrap_storage

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

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    def __len__(self) -> int:
        return self._array.size

    size = __len__

    def element_size(self) -> int:
        """Bytes per element."""
        return self._dtype.np.itemsize

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._array.tolist()

    def _checked(self, key: Any) -> int:
        if not isinstance(key, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(key)}")
        if not -len(self) <= key < len(self):
            raise IndexError(f"index {key} out of range for storage of size {len(self)}")
        return key

    def __getitem__(self, key: Any) -> Any:
        return self._array[self._checked(key)].item()

    def __setitem__(self, key: Any, value: Any) -> None:
        self._array[key if isinstance(key, slice) else self._checked(key)] = value

    def fill_(self, value: Any) -> TypedStorage:
        """Write one value everywhere."""
        self._array[...] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Write the bytes of another storage of the same size."""
        self._untyped_storage.copy_(source.untyped(), bool(non_blocking))
        return self

    def to(self, device: Any, non_blocking: bool = False) -> TypedStorage:
        """The storage on a device: itself if it is there, else a copy."""
        found = self._untyped_storage.to(device)
        return self if found is self._untyped_storage else TypedStorage(wrap_storage=found, dtype=self._dtype)

    def clone(self) -> TypedStorage:
        """A copy."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self._dtype)

    __copy__ = clone

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return TypedStorage(wrap_storage=deepcopy(self._untyped_storage, memo), dtype=self._dtype)

    def __reduce__(self) -> Any:
        return restored, (self._untyped_storage, self._dtype.name)

    def resize_(self, size: int) -> None:
        """Make the storage ``size`` elements long; tensors that look at it keep the memory that they have."""
        self._untyped_storage.resize_(size * self.element_size())

    def type(self) -> str:
        """The name of the type, such as ``"torch.FloatStorage"``."""
        where = "cuda." if self.is_cuda else ""
        return f"torch.{where}{dt.scalar_name(self._dtype.np)}Storage"

    def __repr__(self) -> str:
        return self._shown(f"TypedStorage(dtype={self._dtype}, ", len(self))


def restored(storage: UntypedStorage, dtype: str) -> TypedStorage:
    """The storage that a plain pickle holds as its bytes and the name of its type."""
    return TypedStorage(wrap_storage=storage, dtype=dt.by_name(dtype))


class _Legacy(type):
    """``torch.FloatStorage`` and its kin: they make and recognize typed storages of one type, of another class."""

    dtype: dt.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is TypedStorage and instance.dtype is cls.dtype

    def __call__(cls, data: Any = 0, *, wrap_storage: Any = None) -> TypedStorage:
        return TypedStorage(data, wrap_storage=wrap_storage, dtype=cls.dtype)

    def from_buffer(cls, *args: Any, **kwargs: Any) -> TypedStorage:
        """A copy of the memory of a buffer; see :meth:`UntypedStorage.from_buffer`."""
        return TypedStorage(wrap_storage=UntypedStorage.from_buffer(*args, **kwargs, dtype=cls.dtype), dtype=cls.dtype)


TypedStorage.__module__ = "torch.storage"
LEGACY_STORAGES: dict[str, Any] = {
    (_class := f"{dt.SCALAR_NAMES[_name]}Storage"): _Legacy(_class, (TypedStorage,),
        {"__slots__": (), "dtype": dt.by_name(_name), "__module__": "torch"})
    for _name in ("float32", "float64", "float16", "bfloat16", "complex64", "complex128", "int64", "int32", "int16",
            "int8", "uint8", "bool")
}
globals().update(LEGACY_STORAGES)
