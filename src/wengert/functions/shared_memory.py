"""Tensors in memory that several processes see: how it is made, and how such tensors pass between processes.

The memory is a file without a name, mapped by each process, and freed with the last mapping. Processes that are forked
inherit it; to others the open file is handed when a tensor is pickled for them. A tensor that is sent moves to such
memory first, so that both sides look at the same numbers.
"""

from __future__ import annotations

import gc
import os
import threading
import weakref
from multiprocessing.heap import Arena
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import lazy
from ..arrays.lazy import address, plain
from ..tensor.namespaces import HELD_ONCE, references
from ..tensor.tensor import Tensor, wrap
from .memory import STORAGES, SharedBlock, array_at, block_of, owner_of, place_and_type, place_of
from .parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .storage import UntypedStorage

# The blocks that this process maps, by the number of their file: what arrives twice is mapped once.
_BLOCKS: weakref.WeakValueDictionary[Any, SharedBlock] = weakref.WeakValueDictionary()
_LOCK, _MOVING = threading.Lock(), threading.RLock()
_SMALL = 4096  # bytes that travel with the handle


# -- the memory --------------------------------------------------------------------------------------------------------


def new_block(size: int) -> SharedBlock:
    """A block of ``size`` bytes, zeros at first."""
    if not hasattr(os, "memfd_create"):
        return _known(SharedBlock(Arena(max(size, 1))))
    file = os.memfd_create("wengert")
    os.ftruncate(file, max(size, 1))
    return _known(SharedBlock(map_file(file, max(size, 1))))


def map_file(file: int, size: int) -> Arena:
    """The memory of an open file, which is closed with it."""
    arena = Arena(size, file)  # type: ignore[call-arg]
    weakref.finalize(arena, os.close, file).atexit = False
    return arena


def _known(block: SharedBlock) -> SharedBlock:
    if os.name != "nt":
        _BLOCKS[_number(block.arena.fd)] = block
    return block


def _number(file: int) -> tuple[int, int]:
    found = os.fstat(file)
    return found.st_dev, found.st_ino


def as_bytes(block: SharedBlock) -> np.ndarray:
    """The bytes of a block."""
    return np.asarray(block)


def as_type(memory: np.ndarray, d: np.dtype) -> np.ndarray:
    """The bytes as numbers of a type, as many as there are whole ones."""
    return memory[: memory.size // d.itemsize * d.itemsize].view(d)


# -- moving there ------------------------------------------------------------------------------------------------------


def share(tensors: Iterable[Tensor]) -> None:
    """Move the memory of tensors, with all that look at it, to where other processes see it."""
    with _MOVING:
        _share([t for t in tensors if not t.is_shared()])


def _share(tensors: list[Tensor]) -> None:
    if any(t.is_meta for t in tensors):
        raise RuntimeError("_share_filename_: only available on CPU")
    sharers = _looking_at({id(owner_of(lazy.window(t._wg_data))) for t in tensors if not _alone(t)})
    for t in tensors:
        if not t.is_shared():  # which an earlier one has not done with
            flat = place_of(t._wg_data)[0]
            storage = STORAGES.get(place_and_type(flat))
            moved = _move(flat, [t, *(o for o in sharers.get(id(owner_of(lazy.window(t._wg_data))), ()) if o is not t)])
            if storage is not None:
                _storage_moved(storage, moved)


def share_storage(storage: UntypedStorage) -> None:
    """The same for the memory of a storage."""
    with _MOVING:
        if storage.is_shared():
            return
        storage.bytes()  # which a storage without numbers refuses
        owner = id(owner_of(storage.array))
        _storage_moved(storage, _move(storage.array, _looking_at({owner}).get(owner, [])))


def _storage_moved(storage: UntypedStorage, array: np.ndarray) -> None:
    old = place_and_type(storage.array)  # what lies there from now on has another storage
    if STORAGES.get(old) is storage:
        del STORAGES[old]
    storage.array = array
    STORAGES[place_and_type(array)] = storage


def _alone(t: Tensor) -> bool:
    """Whether nothing but ``t`` looks at its memory, as far as counts of references tell."""
    array: Any = t._wg_data
    while type(array) is np.ndarray and references(array) <= HELD_ONCE:
        if array.base is None:
            return True
        array = array.base
    return False


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
    memory = as_bytes(new_block(flat.nbytes))
    memory[: flat.nbytes] = flat.view(np.uint8)
    for t in tensors:
        _, offset, strides = place_of(t._wg_data)
        here = as_type(memory, t._wg_data.dtype)
        array = (array_at(here, offset, t._wg_data.shape, strides) if t._wg_data.size
            else here[:0].reshape(t._wg_data.shape))
        old: Any = t._wg_data
        t._wg_data = array if type(old) is np.ndarray else old.like(array)
    moved = {id(t) for t in tensors}
    for t in tensors:
        view = None if t._wg_meta is None else t._wg_meta.view
        if view is not None and id(view.base) in moved:
            view.window = view.base._wg_data
    return as_type(memory[: flat.nbytes], flat.dtype)


# -- what is sent ------------------------------------------------------------------------------------------------------


def attach(handle: Any, size: int, content: bytes | None) -> SharedBlock:
    """The block whose file arrives; the one that is here already if it is.

    ``content``: the bytes of a small block, for the case that nobody has the file any more.
    """
    if os.name == "nt":
        return SharedBlock(handle)
    try:
        file = handle.detach()
    except (FileNotFoundError, ConnectionError, EOFError) as e:
        if content is None:
            raise type(e)("the process that sent this tensor has ended, and its memory with it: it must run until the "
                "tensor has been received") from e
        block = new_block(size)
        as_bytes(block)[:] = np.frombuffer(content, np.uint8)
        return block
    with _LOCK:
        known = _BLOCKS.get(_number(file))
        if known is None:
            return _known(SharedBlock(map_file(file, size)))
    os.close(file)
    return known


def reduce_block(block: SharedBlock) -> tuple[Any, ...]:
    """What to send of a block: its open file."""
    if block.lease is not None:
        block.lease.keep()
    if os.name == "nt":
        return attach, (block.arena, block.arena.size, None)
    from multiprocessing.reduction import DupFd

    size = block.arena.size
    return attach, (DupFd(block.arena.fd), size, as_bytes(block).tobytes() if size <= _SMALL else None)


def rebuild(array: Any, requires_grad: bool, is_parameter: bool) -> Tensor:
    """The tensor that was sent by value."""
    tensor = wrap(array)
    return Parameter(tensor, requires_grad) if is_parameter else tensor._wg_require(requires_grad)


def rebuild_shared(block: SharedBlock, offset: int, shape: Any, strides: Any, dtype: str, requires_grad: bool,
        is_parameter: bool) -> Tensor:
    """The tensor that was sent as a place in shared memory."""
    array = array_at(as_type(as_bytes(block), dt.by_name(dtype).np), offset, shape, strides)
    return rebuild(array, requires_grad, is_parameter)


def reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """What to send of a tensor to another process; ``RuntimeError`` if it has a history, which stays here."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError("Cowardly refusing to serialize non-leaf tensor which requires_grad, "
            "since autograd does not support crossing process boundaries.  "
            "If you just want to transfer the data, call detach() on the tensor "
            "before serializing (e.g., putting it on the queue).")
    if type(tensor._wg_data) is np.ndarray and tensor._wg_data.size:
        share([tensor])
    return _as_sent(tensor)


def _as_sent(tensor: Tensor) -> tuple[Any, ...]:
    """The place of a tensor in shared memory, or its numbers if it is elsewhere."""
    array, kind = tensor._wg_data, (tensor.requires_grad, isinstance(tensor, Parameter))
    block = block_of(array) if type(array) is np.ndarray and array.size else None
    if block is None:
        return rebuild, (plain(array), *kind)
    _, _, strides = place_of(array)
    offset = (address(array) - block.address) // array.itemsize
    return rebuild_shared, (block, offset, array.shape, strides, dt.of(array.dtype).name, *kind)


def _forked() -> None:
    global _LOCK, _MOVING
    _LOCK, _MOVING = threading.Lock(), threading.RLock()  # another thread of the parent process may have held them


for _kind in (Tensor, Parameter):
    ForkingPickler.register(_kind, reduce_tensor)
ForkingPickler.register(SharedBlock, reduce_block)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
