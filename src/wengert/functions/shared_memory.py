"""Tensors in memory that several processes see: how it is made, and how such tensors pass between processes.

The memory is a file that has no name any more, mapped by each process (``multiprocessing.heap.Arena``). Processes that
are forked inherit the mapping; to others the file is handed when the tensor is pickled for them. Other tensors travel
by value.
"""

from __future__ import annotations

import gc
from multiprocessing.heap import Arena
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import lazy
from ..arrays.lazy import address, plain
from ..tensor.tensor import Tensor, wrap
from .memory import STORAGES, SharedBlock, array_at, block_of, owner_of, place_and_type, place_of
from .parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .storage import UntypedStorage


def share(tensors: Iterable[Tensor]) -> None:
    """Move the memory of tensors, with all that look at it, to where other processes see it."""
    tensors = [t for t in tensors if not t.is_shared()]
    if any(t.is_meta for t in tensors):
        raise RuntimeError("_share_filename_: only available on CPU")
    sharers = _looking_at({id(owner_of(lazy.window(t._wg_data))) for t in tensors})
    for t in tensors:
        if not t.is_shared():  # which an earlier one has not done with
            flat = place_of(t._wg_data)[0]
            moved = _move(flat, [t, *(o for o in sharers.get(id(owner_of(lazy.window(t._wg_data))), ()) if o is not t)])
            storage = STORAGES.get(place_and_type(flat))
            if storage is not None:
                storage.array = moved


def share_storage(storage: UntypedStorage) -> None:
    """The same for the memory of a storage."""
    if not storage.is_shared():
        storage.bytes()  # which a storage without numbers refuses
        owner = id(owner_of(storage.array))
        storage.array = _move(storage.array, _looking_at({owner}).get(owner, []))


def _looking_at(owners: set[int]) -> dict[int, list[Tensor]]:
    """All tensors that look at memory of these arrays, by the array's ``id``: nothing keeps a list of them."""
    found: dict[int, list[Tensor]] = {}
    for t in gc.get_objects() if owners else ():
        array = lazy.window(getattr(t, "_wg_data", None)) if issubclass(type(t), Tensor) else None
        if type(array) is np.ndarray and id(owner := owner_of(array)) in owners:
            found.setdefault(id(owner), []).append(t)
    return found


def _move(flat: np.ndarray, tensors: list[Tensor]) -> np.ndarray:
    """Move the memory of ``flat``, with the tensors that look at it; where it is now."""
    memory = np.asarray(SharedBlock(Arena(max(flat.nbytes, 1))))
    memory[: flat.nbytes] = flat.view(np.uint8)
    for t in tensors:
        _, offset, strides = place_of(t._wg_data)
        here = _as(memory, t._wg_data.dtype)
        array = (array_at(here, offset, t._wg_data.shape, strides) if t._wg_data.size
            else here[:0].reshape(t._wg_data.shape))
        old: Any = t._wg_data
        t._wg_data = array if type(old) is np.ndarray else old.like(array)
    moved = {id(t) for t in tensors}
    for t in tensors:
        view = None if t._wg_meta is None else t._wg_meta.view
        if view is not None and id(view.base) in moved:
            view.window = view.base._wg_data
    return _as(memory[: flat.nbytes], flat.dtype)


def _as(memory: np.ndarray, d: np.dtype) -> np.ndarray:
    return memory[: memory.size // d.itemsize * d.itemsize].view(d)


def rebuild(array: Any, requires_grad: bool, is_parameter: bool) -> Tensor:
    """The tensor that was sent by value."""
    tensor = wrap(array)
    return Parameter(tensor, requires_grad) if is_parameter else tensor._wg_require(requires_grad)


def rebuild_shared(arena: Arena, offset: int, shape: Any, strides: Any, dtype: str, requires_grad: bool,
        is_parameter: bool) -> Tensor:
    """The tensor that was sent as a place in shared memory."""
    memory = _as(np.asarray(SharedBlock(arena)), dt.by_name(dtype).np)
    array = array_at(memory, offset, shape, strides)
    return rebuild(array, requires_grad, is_parameter)


def reduce(tensor: Tensor) -> tuple[Any, ...]:
    """What to send of a tensor to another process; ``RuntimeError`` if it has a history, which stays here."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError("Cowardly refusing to serialize non-leaf tensor which requires_grad, "
            "since autograd does not support crossing process boundaries.  "
            "If you just want to transfer the data, call detach() on the tensor "
            "before serializing (e.g., putting it on the queue).")
    array, kind = tensor._wg_data, (tensor.requires_grad, isinstance(tensor, Parameter))
    block = block_of(array) if type(array) is np.ndarray and array.size else None
    if block is None:
        return rebuild, (plain(array), *kind)
    _, _, strides = place_of(array)
    offset = (address(array) - block.address) // array.itemsize
    return rebuild_shared, (block.arena, offset, array.shape, strides, dt.of(array.dtype).name, *kind)


for _kind in (Tensor, Parameter):
    ForkingPickler.register(_kind, reduce)
