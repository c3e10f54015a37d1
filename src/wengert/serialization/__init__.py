"""PyTorch's files: ``save`` and ``load``, in both directions, without ever running code from a file.

A ``.pt`` file is a zip archive: a pickle that says what there is, and the memory of the tensors beside it. Reading
interprets the pickle with a machine that only builds plain data (:mod:`.unpickler`) and only accepts the names in an
allow-list (:mod:`.names`). What cannot be read raises :class:`LoadError`. The heavy parts are imported when they are
first needed.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .container import (
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    set_crc32_options,
    set_default_load_endianness,
)
from .names import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..functions.storage import UntypedStorage

__all__ = [
    "EndOfFileError", "LoadEndianness", "LoadError", "add_safe_globals", "clear_safe_globals",
    "default_restore_location", "get_crc32_options", "get_default_load_endianness", "get_default_mmap_options",
    "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load", "location_tag", "safe_globals", "save",
    "set_crc32_options", "set_default_load_endianness", "set_default_mmap_options", "skip_data",
]
DEFAULT_PROTOCOL = 2
MAP_LOCATION = Any  # where tensors go: a device, its name, a dictionary of names, a function of (storage, name)
_LATER = {
    **dict.fromkeys(("skip_data", "get_default_mmap_options", "set_default_mmap_options"), "archive"),
    **dict.fromkeys(("LoadError", "EndOfFileError"), "errors"),
}
_ZIP = b"PK\3\4"


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    from ..names.absent import absent_name

    return absent_name(__name__, name)


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = DEFAULT_PROTOCOL,
        _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False) -> None:
    """Write an object with its tensors to a file that PyTorch can read.

    Tensors that share memory share it in the file: saving a small view of a large tensor writes the large one
    (``clone()`` it first to avoid that). Nothing is written if the object cannot be pickled.

    At a path there is the old file or the whole new one, whatever happens meanwhile: it is written under another name
    in the same folder, and renamed when it is on the disk. Other hard links to the old file keep the old contents. (In
    a folder that takes no new files, an existing one is written over in place.) A process that is killed can leave the
    temporary file, ``.name.*.tmp``, behind.

    ``f`` is a path or an object with ``write``. PyTorch's ``weights_only`` reader needs ``pickle_protocol`` 2.
    ``_use_new_zipfile_serialization=False`` writes the format that PyTorch had before 1.6. ``pickle_module`` must be
    None or ``pickle``. Raises ``RuntimeError`` if the folder does not exist, or if tensors look at the same memory as
    different types.

    >>> import io, wengert as torch
    >>> file = io.BytesIO()
    >>> torch.save({"step": 3, "weight": torch.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'step': 3, 'weight': tensor([1., 1.])}
    """
    if pickle_module is not None and pickle_module.__name__ != "pickle":
        raise ValueError(f"wengert pickles with its own pickler: pickle_module must be pickle, got {pickle_module!r}")
    is_path = isinstance(f, (str, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if _use_new_zipfile_serialization:
        from .archive import save_archive

        path = os.fspath(f) if is_path else ""
        name = os.path.basename(path).rpartition(".")[0] or os.path.basename(path)  # as PyTorch names it
        write = save_archive(obj, name if path.isascii() and name else "archive", pickle_protocol,
            not _disable_byteorder_record)
    else:
        from .legacy import save_legacy

        write = save_legacy(obj, pickle_protocol)
    if not is_path:
        write(f)
        if hasattr(f, "flush"):
            f.flush()
        return
    folder = os.path.dirname(os.fspath(f))
    if folder and not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    from .atomic import write_whole

    write_whole(f, write)


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
        mmap: bool | None = None, **pickle_load_args: Any) -> Any:
    """Read an object that :func:`save`, or PyTorch's ``torch.save``, wrote.

    Code in the file is never run, whatever ``weights_only`` says: what a file may name is an allow-list that
    :func:`add_safe_globals` and :class:`safe_globals` extend; what they add, a file may have called. With
    ``weights_only=False`` a file may also name NumPy's arrays, numbers and types, some values of the standard library,
    and what the running program has itself: functions, which can be held and are not called, and its classes and this
    package's, whose instances are made as ``pickle`` makes them: without ``__init__``, but with methods of the class
    that take part in it, such as ``__new__``, ``__setstate__`` and ``__hash__``.

    Args:
        f: a path, or a seekable object with ``read``. Files whose name ends with ``.safetensors`` are read as such.
        map_location: where tensors go: a device, its name, a dictionary from saved to wanted locations, or a function
            of storage and location that returns the storage to use (or None).
        pickle_module: accepted for compatibility and not used.
        weights_only: False is for whole models and other objects of classes that the program has imported.
        mmap: look at the tensors in the file (a path, in the zip format) instead of reading them; writing to them
            leaves the file as it is.
        pickle_load_args: ``encoding``, for text in pickles that Python 2 wrote.

    The environment variables ``TORCH_FORCE_WEIGHTS_ONLY_LOAD`` and ``TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD`` set to ``1``
    make ``weights_only`` True, or False where it is not given.

    Raises :class:`LoadError`, which is a ``RuntimeError`` and a ``pickle.UnpicklingError``, for a file that is damaged
    or names anything else ("Weights only load failed ...").
    """
    import warnings

    from .names import allowed_by_user

    weights_only = _weights_only(weights_only, pickle_module)
    if pickle_load_args and weights_only:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    encoding = pickle_load_args.get("encoding", "utf-8")
    allowed_by_user()  # raises for what is no name
    raised: list[Exception] = []
    restore = _restorer(map_location, raised)
    with _opened(f) as (file, path):
        read = _reader(file, path, mmap)
        try:
            return read(file, restore, map_location, encoding, not weights_only)
        except Exception as error:
            from .errors import reported

            name = getattr(file, "name", None)
            better = reported(error, name if isinstance(name, str) else None, weights_only, raised)
            if better is error:
                raise
            raise better from error


@contextmanager
def _opened(f: Any) -> Iterator[tuple[Any, str | None]]:
    """``(file, its path)``; the path is None of a file that is open already."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            yield file, os.fspath(f)  # type: ignore[misc]
        return
    import io

    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer "
            "like io.BytesIO and try to load from it instead."
        ) from None
    yield f, None


def _reader(file: Any, path: str | None, mmap: bool | None) -> Callable[..., Any]:
    """The reader for this format: a function of file, restore, ``map_location``, encoding, and ``own_classes``."""
    start = file.tell()
    begin = file.read(len(_ZIP))
    file.seek(start)
    if begin != _ZIP and mmap:
        where = "" if path is None else f"{path}, "
        raise RuntimeError(f"mmap can only be used with files saved with `torch.save({where}"
            "_use_new_zipfile_serialization=True), please torch.save your checkpoint with this option in order to use "
            "mmap.")
    if mmap and path is None:
        raise ValueError("f must be a file path in order to use the mmap argument")
    if path is not None and path.endswith(".safetensors"):
        from .safetensors import load_safetensors

        return lambda file, restore, where, encoding, named: load_safetensors(file, where, restore)
    if begin == _ZIP:
        from .archive import load_archive

        return lambda file, restore, where, encoding, named: load_archive(file, restore, path if mmap else None,
            encoding, named)
    from .legacy import load_legacy

    return lambda file, restore, where, encoding, named: load_legacy(file, restore, encoding, named)


def _weights_only(given: bool | None, pickle_module: Any) -> bool:
    """Whether files may only name what is listed: the argument of ``load``, or what the environment says."""
    yes = ("1", "y", "yes", "true")
    force, force_not = (os.environ.get(f"TORCH_FORCE_{name}_LOAD", "0").lower() in yes
        for name in ("WEIGHTS_ONLY", "NO_WEIGHTS_ONLY"))
    if force and force_not:
        raise RuntimeError("Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should "
            "be set, but both were set.")
    if force_not and given is None:
        import warnings

        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was not "
            "explicitly passed to `torch.load`, forcing weights_only=False.", stacklevel=3,
        )
    found = force or (given if given is not None else pickle_module is None and not force_not)
    if found and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    return found


# -- where loaded storages go ------------------------------------------------------------------------------------------


def location_tag(storage: UntypedStorage) -> str:
    """Where a storage is, as files name it: ``"cpu"`` or ``"cuda:0"``."""
    return str(storage.device)


def default_restore_location(storage: UntypedStorage, location: str) -> UntypedStorage:
    """The storage at ``location``. Raises ``RuntimeError`` if this machine has no such place."""
    from ..functions.devices import HOSTED, available

    kind = location.partition(":")[0]
    if location in ("cpu", "meta") or kind in HOSTED:
        storage.meta = location == "meta"
        return storage
    if kind not in ("cuda", "mps", "hpu", "xpu", "mtia"):
        raise RuntimeError("don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
            f"{location})")
    if available(kind):
        return storage.to(location)
    raise RuntimeError(f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}.is_available() "
        "is False. If you are running on a CPU-only machine, please use torch.load with "
        "map_location=torch.device('cpu') to map your storages to the CPU.")


def _restorer(map_location: Any, raised: list[Exception]) -> Callable[[UntypedStorage, str], UntypedStorage]:
    """What to do with each storage, by the user's ``map_location``, whose errors are added to ``raised``."""
    from ..tensor.types import device

    if map_location is None:
        return default_restore_location
    place = map_location.decode() if isinstance(map_location, bytes) else map_location

    def restore(storage: UntypedStorage, at: str) -> UntypedStorage:
        try:
            if isinstance(place, (str, device)):
                return default_restore_location(storage, str(place))
            if isinstance(place, dict):
                moved = default_restore_location(storage, place[at]) if at in place else None
            else:
                moved = place(storage, at)
        except Exception as error:
            raised.append(error)
            raise
        return default_restore_location(storage, at) if moved is None else moved

    return restore


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The full names that a file written by ``save`` contains and that :func:`load` would refuse.

    Raises ``ValueError`` for other files. Nothing is unpickled.
    """
    from .container import Reader
    from .names import allowed_by_user, known
    from .unpickler import globals_in

    with _opened(f) as (file, _):
        start = file.tell()
        if file.read(len(_ZIP)) != _ZIP:
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        file.seek(start)
        archive = Reader(file)
        if "constants.pkl" in archive.records:
            raise ValueError("Expected input to be a checkpoint returned by torch.save but got a torchscript "
                "checkpoint")
        return sorted(globals_in(archive.read("data.pkl")) - known().keys() - allowed_by_user().keys())
