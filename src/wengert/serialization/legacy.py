"""The format from before zip files: pickles one after another, then the storages.

A magic number, the version, facts about the machine, the object, the keys of its storages; then for each key the
number of elements and the elements.
"""

from __future__ import annotations

import pickle
import struct
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ..functions.storage import UntypedStorage
from ..functions.typed_storage import TypedStorage
from .archive import storage_identifier
from .container import fill, size_of, swapped
from .errors import shown
from .pickler import Storages, dumps
from .unpickler import Unpickler

if TYPE_CHECKING:
    from collections.abc import Callable

_SMALL = 1 << 16  # bytes that may be read without a check of what is left
MAGIC, VERSION = 0x1950A86A20F9469CFC6C, 1001


def save_legacy(obj: Any, protocol: int) -> Callable[[Any], None]:
    """Pickle ``obj`` now; what is returned writes it into a file."""
    storages = Storages()
    facts = {
        "protocol_version": VERSION, "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    heads = [pickle.dumps(x, protocol) for x in (MAGIC, VERSION, facts)]
    heads.append(dumps(obj, protocol, storages, legacy=True))
    keys = sorted(storages.by_key)
    heads.append(pickle.dumps(keys, protocol))

    def write(file: Any) -> None:
        file.write(b"".join(heads))
        for key in keys:
            storage = storages.by_key[key]
            file.write(struct.pack("<q", storage.nbytes() // storages.written[key].itemsize))
            file.write(storage.cpu().bytes())

    return write


class _Rest:
    """What is left of a file, for the unpickler, which never reads more bytes than there are."""

    def __init__(self, file: Any) -> None:
        self.file, self.end, self.readline = file, size_of(file), file.readline

    def left(self) -> int:
        return self.end - self.file.tell()

    def read(self, n: int) -> bytes:
        return self.file.read(n if n < _SMALL else min(n, self.left()))


class _Storages:
    """Gives the unpickler its storages; their contents follow the pickles, and are read then."""

    def __init__(self, rest: _Rest, restore: Callable[[Any, str], Any]) -> None:
        self.rest, self.restore = rest, restore
        self.arrays: dict[str, np.ndarray] = {}
        self.loaded: dict[Any, TypedStorage] = {}
        self.awaited = 0

    def __call__(self, identifier: tuple[Any, ...]) -> TypedStorage:
        kind, key, location, numel = storage_identifier(identifier)
        view = identifier[5] if len(identifier) > 5 else None
        if key not in self.arrays:
            self.awaited += 8 + numel * kind.dtype.itemsize
            _need(self.awaited, self.rest.left())
            self.arrays[key] = np.empty(numel, kind.dtype.np)
            memory = self.restore(UntypedStorage(self.arrays[key]), location)
            self.loaded[key] = TypedStorage(wrap_storage=memory, dtype=kind.dtype)
        if view is None:
            return self.loaded[key]
        if type(view) is not tuple or [type(x) for x in view] != [str, int, int]:
            raise RuntimeError("a part of a storage has a name, an offset and a size")
        name, offset, size = view
        if not 0 <= offset <= offset + size <= self.arrays[key].size:
            raise RuntimeError(f"elements {offset} to {offset + size} are no part of a storage of "
                f"{self.arrays[key].size}")
        if name not in self.loaded:
            part = UntypedStorage(self.arrays[key][offset : offset + size])
            self.loaded[name] = TypedStorage(wrap_storage=part, dtype=kind.dtype)
        return self.loaded[name]

    def read(self, keys: Any, swap: bool) -> None:
        """Read the contents of the storages, which are there in this order."""
        for key in keys if type(keys) is list else [keys]:
            if type(key) is not str or key not in self.arrays:
                raise RuntimeError(f"storage key {repr(key[:50]) if type(key) is str else shown(key)} not found among "
                    "the storages of the object")
        if sorted(keys) != sorted(self.arrays):
            raise RuntimeError("keys are missing for storages of the object, or there twice")
        for key in keys:
            array = self.arrays[key]
            head = self.rest.read(8)
            _need(8, len(head))
            (numel,) = struct.unpack("<q", head)
            if numel != array.size:
                raise RuntimeError(f"storage has wrong byte size: expected {array.size} elements got {numel}")
            _need(array.nbytes, fill(self.rest.file, array.view(np.uint8)))
            if swap:
                swapped(array)


def load_legacy(file: Any, restore: Callable[[Any, str], Any], encoding: str, own_classes: bool) -> Any:
    """The object in the file, whose position is at its beginning."""
    rest = _Rest(file)

    def plain() -> Any:
        return Unpickler(rest, rest.left(), _no_storage, encoding=encoding).load()

    magic = plain()
    if type(magic) is not int or magic != MAGIC:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = plain()
    if version != VERSION or type(version) is not int:
        raise RuntimeError("Invalid protocol version: "
            f"{version if type(version) is int and version < 2**63 else shown(version)}")
    facts = plain()
    if type(facts) is not dict:
        raise RuntimeError("the file does not say on what machine it was written")
    swap = bool(facts.get("little_endian", True)) is not (sys.byteorder == "little")
    storages = _Storages(rest, restore)
    unpickler = Unpickler(rest, rest.left(), storages, encoding=encoding, own_classes=own_classes)
    obj = unpickler.load()
    storages.read(plain(), swap)
    unpickler.validate()
    return obj


def _need(count: int, there: int) -> None:
    if there < count:
        raise RuntimeError(f"unexpected EOF, expected {count - there} more bytes. The file might be corrupted.")


def _no_storage(identifier: tuple[Any, ...]) -> Any:
    raise pickle.UnpicklingError("unsupported persistent id encountered")
