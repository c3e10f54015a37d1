"""``torch.multiprocessing.reductions``: what is sent to other processes in place of tensors and storages."""

from __future__ import annotations

import weakref
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.lazy import address
from ..functions import shared_memory as _shared
from ..functions.memory import SharedBlock, block_of, owner_of
from ..functions.parameter import Parameter
from ..functions.storage import UntypedStorage, storage_of
from ..names.absent import absent_from
from ..tensor.tensor import Tensor
from ..utils.hooks import warn_if_has_hooks

__all__ = ["StorageWeakRef", "init_reductions", "reduce_storage", "reduce_tensor"]


def reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """A function and its arguments that make the tensor in another process, where it has the same memory."""
    if tensor._backward_hooks:
        warn_if_has_hooks(tensor)
    return _shared.reduce_tensor(tensor)


def reduce_small(tensor: Tensor, most: int) -> tuple[Any, ...]:
    """The same, but a plain tensor that looks at less than ``most`` bytes goes by value."""
    array = tensor._wg_data
    if type(array) is np.ndarray and not tensor.requires_grad and owner_of(array).nbytes < most and not block_of(array):
        return _shared.rebuild, (array, False, False)
    return reduce_tensor(tensor)


def reduce_storage(storage: UntypedStorage) -> tuple[Any, ...]:
    """The same for a storage."""
    if storage.meta or storage.wrapped or not storage.nbytes():
        return storage.__reduce__()  # type: ignore[no-any-return]
    storage.share_memory_()
    block = block_of(storage.array)
    if block is None or block.address != address(storage.array):
        return storage.__reduce__()  # type: ignore[no-any-return]
    return rebuild_storage, (block, storage.nbytes(), storage.dtype.name)


def rebuild_storage(block: SharedBlock, size: int, dtype: str) -> UntypedStorage:
    """The storage that was sent: the first ``size`` bytes of a block."""
    return storage_of(_shared.as_type(_shared.as_bytes(block)[:size], dt.by_name(dtype).np))


def init_reductions() -> None:
    """Let pickles for other processes take tensors as handles; importing ``torch.multiprocessing`` has done so."""
    for kind, function in ((Tensor, reduce_tensor), (Parameter, reduce_tensor), (UntypedStorage, reduce_storage)):
        ForkingPickler.register(kind, function)


class StorageWeakRef:
    """A reference to a storage that does not keep it: equal for equal storages, and ``expired()`` once it is gone.

    >>> t = torch.ones(2)
    >>> reference = torch.multiprocessing.reductions.StorageWeakRef(t.untyped_storage())
    >>> reference == torch.multiprocessing.reductions.StorageWeakRef(t[1:].untyped_storage())
    True
    """

    __slots__ = ("_memory", "cdata")

    def __init__(self, storage: Any) -> None:
        storage = storage if type(storage) is UntypedStorage else storage.untyped()
        self.cdata: int = storage._cdata
        self._memory = weakref.ref(owner_of(storage.array))

    def expired(self) -> bool:
        """Whether the memory is gone."""
        return self._memory() is None

    def __hash__(self) -> int:
        return self.cdata

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, StorageWeakRef) and self.cdata == other.cdata)


__getattr__ = absent_from(__name__)
