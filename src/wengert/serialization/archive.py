"""A checkpoint in PyTorch's zip format: ``data.pkl`` beside one record per storage."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.context import ContextVar
from ..functions.storage import UntypedStorage
from ..functions.typed_storage import TypedStorage
from .container import ALIGNMENT, Reader, Writer, default_byte_order, swapped
from .errors import shown
from .pickler import Storages, dumps
from .unpickler import Unpickler

if TYPE_CHECKING:
    from collections.abc import Callable


_without_data: ContextVar[bool] = ContextVar("_without_data", default=False)


class skip_data:
    """Save tensors without their numbers: within it, files reserve the space for them, and load as zeros.
    ``materialize_fake_tensors`` is accepted for compatibility.

    >>> import io, wengert as torch
    >>> file = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(2), file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    tensor([0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._token = _without_data.set(True)

    def __exit__(self, *_: object) -> None:
        _without_data.reset(self._token)


def save_archive(obj: Any, name: str, protocol: int, byte_order: bool) -> Callable[[Any], None]:
    """Pickle ``obj`` now; what is returned writes it into a file, under the folder ``name``."""
    storages = Storages()
    pickled = dumps(obj, protocol, storages)
    skips = _without_data.get()

    def write(file: Any) -> None:
        archive = Writer(file, name)
        archive.record("data.pkl", pickled)
        archive.record(".format_version", b"1")
        archive.record(".storage_alignment", str(ALIGNMENT).encode())
        if byte_order:
            archive.record("byteorder", sys.byteorder.encode())
        for key, storage in storages.by_key.items():
            archive.record(f"data/{key}", bytes(storage.nbytes()) if skips else storage.cpu().bytes())
        archive.close()

    return write


class StorageReader:
    """Gives the unpickler its storages, each once; ``restore`` puts a storage where it belongs, ``mapped`` is the whole
    file in memory, to look at instead of reading.
    """

    def __init__(self, archive: Reader, restore: Callable[[Any, str], Any], mapped: Any = None) -> None:
        self.archive, self.restore, self.mapped = archive, restore, mapped
        self.loaded: dict[str, TypedStorage] = {}
        order = archive.read("byteorder", default_byte_order())
        if order not in (b"little", b"big"):
            raise ValueError(f"Unknown endianness type: {order[:50].decode(errors='replace')}")
        self.swap = order.decode() != sys.byteorder

    def __call__(self, identifier: tuple[Any, ...]) -> TypedStorage:
        kind, key, location, numel = storage_identifier(identifier)
        storage = self.loaded.get(key)
        if storage is None:
            memory = self.restore(UntypedStorage(self._array(f"data/{key}", kind.dtype, numel)), location)
            storage = self.loaded[key] = TypedStorage(wrap_storage=memory, dtype=kind.dtype)
        return storage

    def _array(self, name: str, dtype: Any, numel: int) -> np.ndarray:
        size = numel * dtype.itemsize
        start = self.archive.offset(name)
        held = self.archive.size(name)
        if size > held:
            raise RuntimeError(f"record {name} holds {held} bytes, but its tensors need {size}: the file is corrupt")
        self.archive.claim(name, size)
        if self.mapped is not None and start is not None and size:
            plain = dtype.np if dtype.np.kind in "biufc" else f"u{dtype.itemsize}"
            array = np.frombuffer(self.mapped, plain, numel, start).view(dtype.np)
        else:
            array = np.empty(numel, dtype.np)
            self.archive.read_into(name, array.view(np.uint8))
        return swapped(array) if self.swap else array


def storage_identifier(identifier: tuple[Any, ...]) -> tuple[Any, str, str, int]:
    """``(type, key, location, number of elements)``, checked, of what a pickle calls a storage."""
    from .names import StorageType

    try:
        kind, key, location, numel = (x.decode("ascii") if isinstance(x, bytes) else x for x in identifier[1:5])
        if isinstance(kind, StorageType) and type(key) is type(location) is str and type(numel) is int and numel >= 0:
            return kind, key, location, numel
    except ValueError:
        pass
    raise RuntimeError(f"not the identifier of a storage: {', '.join(map(shown, identifier[1:5]))}")


def load_archive(file: Any, restore: Callable[[Any, str], Any], path: str | None, encoding: str,
        own_classes: bool) -> Any:
    """The object in the archive; its storages are looked at in the file at ``path``, if that is given."""
    archive = Reader(file)
    if "constants.pkl" in archive.records:
        raise RuntimeError("Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``: they "
            "hold programs, and wengert never runs code from a file.")
    read = StorageReader(archive, restore, None if path is None else mapped(path))
    pickled = archive.read("data.pkl")
    unpickler = Unpickler(io.BytesIO(pickled), len(pickled), read, encoding=encoding, own_classes=own_classes)
    obj = unpickler.load()
    unpickler.validate()
    return obj


class set_default_mmap_options:
    """Whether ``load(..., mmap=True)`` writes through to the file (``mmap.MAP_SHARED``) or not (``MAP_PRIVATE``); also
    a context.

    >>> import mmap, wengert as torch
    >>> with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
    ...     torch.serialization.get_default_mmap_options() == mmap.MAP_SHARED
    True
    """

    def __init__(self, flags: int) -> None:
        global _sharing
        from mmap import MAP_PRIVATE, MAP_SHARED

        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError("Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                f"mmap.MAP_SHARED, but got {flags}")
        self.before, _sharing = _sharing, flags == MAP_SHARED

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        global _sharing
        _sharing = self.before


_sharing = False


def get_default_mmap_options() -> int | None:
    """``mmap.MAP_PRIVATE`` or ``MAP_SHARED``, None without both: see :class:`set_default_mmap_options`."""
    import mmap

    return getattr(mmap, "MAP_SHARED" if _sharing else "MAP_PRIVATE", None)


def mapped(path: str) -> Any:
    """The file as memory that is read when it is looked at, and copied where it is written to, unless it is shared."""
    from mmap import ACCESS_COPY, ACCESS_WRITE, mmap

    with open(path, "r+b" if _sharing else "rb") as file:
        return mmap(file.fileno(), 0, access=ACCESS_WRITE if _sharing else ACCESS_COPY)
