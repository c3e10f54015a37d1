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

from ..tensor.storage import UntypedStorage
from ..tensor.typed_storage import TypedStorage
from . import endianness
from .archive import storage_identifier
from .pickler import Storages, dumps
from .unpickler import Unpickler

if TYPE_CHECKING:
    from collections.abc import Callable

MAGIC, VERSION = 0x1950A86A20F9469CFC6C, 1001


def save_legacy(obj: Any, protocol: int) -> Callable[[Any], None]:
    """Pickle ``obj`` now; what is returned writes it into a file."""
    storages = Storages()
    facts = {
        "protocol_version": VERSION,
        "little_endian": sys.byteorder == "little",
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
            file.write(storage.bytes())

    return write


def load_legacy(file: Any, restore: Callable[[Any, str], Any], encoding: str, own_classes: bool) -> Any:
    """The object in the file, whose position is at its beginning."""

    def plain() -> Any:
        return Unpickler(file, _no_storage, encoding=encoding).load()

    if plain() != MAGIC:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = plain()
    if version != VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    facts = plain()
    swap = bool(facts.get("little_endian", True)) is not (sys.byteorder == "little")
    arrays: dict[str, np.ndarray] = {}
    loaded: dict[Any, TypedStorage] = {}

    def load_storage(identifier: tuple[Any, ...]) -> TypedStorage:
        kind, key, location, numel = storage_identifier(identifier)
        view = identifier[5] if len(identifier) > 5 else None
        if key not in arrays:
            arrays[key] = np.empty(numel, kind.dtype.np)
            loaded[key] = TypedStorage(wrap_storage=restore(UntypedStorage(arrays[key]), location), dtype=kind.dtype)
        if view is None:
            return loaded[key]
        name, offset, size = view
        if name not in loaded:
            loaded[name] = TypedStorage(wrap_storage=UntypedStorage(arrays[key][offset : offset + size]), dtype=kind.dtype)
        return loaded[name]

    obj = Unpickler(file, load_storage, encoding=encoding, own_classes=own_classes).load()
    for key in plain():
        array = arrays.get(key)
        if array is None:
            raise RuntimeError(f"storage key {key!r} not found among the storages of the object")
        (numel,) = struct.unpack("<q", _exactly(file, 8))
        if numel != array.size:
            raise RuntimeError(f"storage has wrong byte size: expected {array.size} elements got {numel}")
        array.view(np.uint8)[...] = np.frombuffer(_exactly(file, array.nbytes), np.uint8)
        if swap:
            endianness.swapped(array)
    return obj


def _exactly(file: Any, n: int) -> bytes:
    data = file.read(n)
    if len(data) != n:
        raise RuntimeError(f"unexpected EOF, expected {n - len(data)} more bytes. The file might be corrupted.")
    return data


def _no_storage(identifier: tuple[Any, ...]) -> Any:
    raise pickle.UnpicklingError("unsupported persistent id encountered")
