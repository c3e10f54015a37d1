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
from mmap import mmap
from multiprocessing.heap import Arena
from multiprocessing.reduction import ForkingPickler
from tempfile import mkstemp
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

# The files that this process maps, by their numbers: what arrives twice is mapped once.
_FILES: weakref.WeakValueDictionary[Any, SharedFile] = weakref.WeakValueDictionary()
_LOCK, _MOVING = threading.Lock(), threading.RLock()
_SMALL = 4096  # bytes that travel with the handle
_LINE = 64  # where a part of a file may begin


# -- the memory --------------------------------------------------------------------------------------------------------


class SharedFile:
    """An open file without a name, and its memory in this process."""

    __slots__ = ("__weakref__", "blocks", "buffer", "fd", "size")

    def __init__(self, fd: int, size: int) -> None:
        self.fd, self.size, self.buffer = fd, size, mmap(fd, size)
        self.blocks: weakref.WeakValueDictionary[int, SharedBlock] = weakref.WeakValueDictionary()
        weakref.finalize(self, os.close, fd).atexit = False
        found = os.fstat(fd)
        _FILES[found.st_dev, found.st_ino] = self

    def block(self, start: int, size: int) -> SharedBlock:
        """The part that begins at ``start``."""
        with _LOCK:
            found = self.blocks.get(start)
            if found is None:
                found = self.blocks[start] = SharedBlock(self, start, size)
        return found


def new_file(size: int) -> Any:
    """A file of ``size`` bytes, zeros at first."""
    if os.name == "nt":
        return Arena(max(size, 1))
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("wengert")
    else:
        fd, name = mkstemp(prefix="wengert-")
        os.unlink(name)
    os.ftruncate(fd, max(size, 1))
    return SharedFile(fd, max(size, 1))


def block_at(file: Any, start: int, size: int) -> SharedBlock:
    """A part of a file; the one that is here already if it is."""
    return file.block(start, size) if type(file) is SharedFile else SharedBlock(file, start, size)


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
    owners = {id(owner): owner for owner in (owner_of(lazy.window(t._wg_data)) for t in tensors)}
    room = _Room(sum(_in_lines(owner.nbytes) for owner in owners.values()))
    del owners
    sharers = _looking_at({id(owner_of(lazy.window(t._wg_data))) for t in tensors if not _alone(t)})
    for t in tensors:
        if not t.is_shared():  # which an earlier one has not done with
            flat = place_of(t._wg_data)[0]
            storage = STORAGES.get(place_and_type(flat))
            others = sharers.get(id(owner_of(lazy.window(t._wg_data))), ())
            moved = _move(flat, [t, *(o for o in others if o is not t)], room)
            if storage is not None:
                _storage_moved(storage, moved)


def share_storage(storage: UntypedStorage) -> None:
    """The same for the memory of a storage."""
    with _MOVING:
        if storage.is_shared():
            return
        storage.bytes()  # which a storage without numbers refuses
        owner = id(owner_of(storage.array))
        room = _Room(_in_lines(storage.array.nbytes))
        _storage_moved(storage, _move(storage.array, _looking_at({owner}).get(owner, []), room))


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


def _in_lines(size: int) -> int:
    return max(-(-size // _LINE), 1) * _LINE


class _Room:
    """One file for all that moves at once: each has an open file else."""

    def __init__(self, size: int) -> None:
        self.size, self.used, self.file = size, 0, new_file(size)

    def take(self, size: int) -> np.ndarray:
        """The next ``size`` bytes."""
        wanted = _in_lines(size)
        if self.used + wanted > self.size:  # a copy may be longer than what was counted
            return as_bytes(block_at(new_file(wanted), 0, max(size, 1)))
        self.used += wanted
        return as_bytes(block_at(self.file, self.used - wanted, max(size, 1)))


def _move(flat: np.ndarray, tensors: list[Tensor], room: _Room) -> np.ndarray:
    """Move the memory of ``flat``, with the tensors that look at it; where it is now."""
    memory = room.take(flat.nbytes)
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


def attach(handle: Any, size: int, content: bytes | None) -> SharedFile:
    """The file that arrives; the one that is here already if it is.

    ``content``: the bytes of a small one, for the case that nobody has it any more.
    """
    try:
        fd = handle.detach()
    except (FileNotFoundError, ConnectionError, EOFError) as e:
        if content is None:
            raise type(e)("the process that sent this tensor has ended, and its memory with it: it must run until the "
                "tensor has been received") from e
        file: SharedFile = new_file(size)
        file.buffer[:] = content
        return file
    found = os.fstat(fd)
    with _LOCK:
        known = _FILES.get((found.st_dev, found.st_ino))
        if known is None:
            return SharedFile(fd, size)
    os.close(fd)
    return known


def reduce_file(file: SharedFile) -> tuple[Any, ...]:
    """What to send of a file: itself, open."""
    from multiprocessing.reduction import DupFd

    return attach, (DupFd(file.fd), file.size, file.buffer[:] if file.size <= _SMALL else None)


def reduce_block(block: SharedBlock) -> tuple[Any, ...]:
    """What to send of a part of a file."""
    return block_at, (block.file, block.start, block.size)


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
ForkingPickler.register(SharedFile, reduce_file)
ForkingPickler.register(SharedBlock, reduce_block)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
