"""Checkpoints in a folder: a file of each process, and ``.metadata``, which says what is in them.

A file gets its name when it is whole, and ``.metadata`` when all files have theirs. A checkpoint that is written over
another has other files, and the old ones go when the new ``.metadata`` is there. So what is killed in between leaves
the old checkpoint, or none. Reading runs no code of a file.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from ...futures import Future
from ...serialization import load, safe_globals, save
from ...serialization.atomic import write_whole
from ...serialization.pickler import Storages, dumps
from . import metadata as M
from .planner import LoadItemType, WriteItemType
from .storage import StorageReader, StorageWriter, WriteResult

__all__ = ["FileSystemReader", "FileSystemWriter"]
_NAME = ".metadata"


@dataclass
class _StorageInfo:
    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if v is not None}


@dataclass
class _StoragePrefix:
    prefix: str


def _done(value: Any) -> Any:
    found: Any = Future()
    found.set_result(value)
    return found


class FileSystemWriter(StorageWriter):
    """Writes a checkpoint to the folder ``path``.

    ``overwrite``: whether there may be one already. ``sync_files`` and the other options are PyTorch's: files are
    always written to the disk.

    >>> from wengert.distributed.checkpoint import FileSystemWriter
    >>> FileSystemWriter("checkpoint").path.name
    'checkpoint'
    """

    def __init__(self, path: Any, single_file_per_rank: bool = True, sync_files: bool = True, thread_count: int = 1,
            per_thread_copy_ahead: int = 10_000_000, cache_staged_state_dict: bool = False, overwrite: bool = True,
            **_: Any) -> None:
        self.path, self.overwrite = Path(path), overwrite
        self.save_id = uuid4().hex

    def reset(self, checkpoint_id: Any = None) -> None:
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.save_id = uuid4().hex

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.rank = kwargs.get("rank")

    def prepare_local_plan(self, plan: Any) -> Any:
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / _NAME).exists() and not self.overwrite:
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite}.")
        return plan

    def prepare_global_plan(self, plans: list[Any]) -> list[Any]:
        again = f"{self.save_id[:8]}_" if any(self.path.glob("*.distcp")) else ""
        return [replace(p, storage_data=_StoragePrefix(f"__{i}_{again}")) for i, p in enumerate(plans)]

    def write_data(self, plan: Any, planner: Any) -> Any:
        name = f"{plan.storage_data.prefix}0.distcp"
        results: list[WriteResult] = []

        def write(file: Any) -> None:
            for item in plan.items:
                start, data = file.tell(), planner.resolve_data(item)
                if item.type == WriteItemType.BYTE_IO:
                    file.write(data.getbuffer())
                else:
                    stream = io.BytesIO()
                    save(data.clone() if data._is_view() else data, stream)
                    file.write(stream.getbuffer())
                results.append(WriteResult(item.index, file.tell() - start,
                    _StorageInfo(name, start, file.tell() - start)))

        if plan.items:
            write_whole(self.path / name, write)
        return _done(results)

    def finish(self, metadata: M.Metadata, results: list[list[WriteResult]]) -> None:
        data = {r.index: r.storage_data for row in results for r in row}
        metadata = replace(metadata, storage_data=data, storage_meta=self.storage_meta(), version="1.0.0")
        pickled = dumps(metadata, 2, Storages())
        write_whole(self.path / _NAME, lambda file: file.write(pickled))
        kept = {info.relative_path for info in data.values()}
        for old in self.path.glob("*.distcp"):
            if old.name not in kept:
                old.unlink(missing_ok=True)

    def storage_meta(self) -> M.StorageMeta:
        return M.StorageMeta(checkpoint_id=str(self.path), save_id=self.save_id)

    @property
    def checkpoint_id(self) -> Any:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        """Whether it is a path."""
        return isinstance(checkpoint_id, (str, os.PathLike)) and "://" not in str(checkpoint_id)


_CLASSES = [M.Metadata, M.TensorStorageMetadata, M.BytesStorageMetadata, M.ChunkStorageMetadata, M.TensorProperties,
    M.MetadataIndex, M.StorageMeta, M._MEM_FORMAT_ENCODING, _StorageInfo]


class FileSystemReader(StorageReader):
    """Reads a checkpoint from the folder ``path``; PyTorch's too.

    >>> from wengert.distributed.checkpoint import FileSystemReader
    >>> FileSystemReader("checkpoint").checkpoint_id.name
    'checkpoint'
    """

    def __init__(self, path: Any, *_: Any, **__: Any) -> None:
        self.path = Path(path)
        self.load_id = uuid4().hex

    def reset(self, checkpoint_id: Any = None) -> None:
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.load_id = uuid4().hex

    def read_metadata(self, *args: Any, **kwargs: Any) -> M.Metadata:
        from ...serialization.unpickler import Unpickler

        data = (self.path / _NAME).read_bytes()
        classes: list[Any] = [x for kind in _CLASSES
            for x in (kind, (kind, f"torch.distributed.checkpoint.{_home(kind)}.{kind.__qualname__}"))]
        paths = [(_path, f"pathlib.{name}Path") for name in ("Posix", "Windows")]
        with safe_globals([*classes, *paths]):
            found = Unpickler(io.BytesIO(data), len(data), _no_storage).load()
        if not isinstance(found, M.Metadata):
            raise RuntimeError(f"{self.path / _NAME} is not the metadata of a checkpoint")
        if found.storage_meta is None:
            found.storage_meta = M.StorageMeta()
        found.storage_meta.load_id = self.load_id
        return found

    def set_up_storage_reader(self, metadata: Any, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan: Any) -> Any:
        return plan

    def prepare_global_plan(self, plans: list[Any]) -> list[Any]:
        return plans

    def read_data(self, plan: Any, planner: Any) -> Any:
        by_file: dict[str, list[Any]] = {}
        for item in plan.items:
            by_file.setdefault(self.storage_data[item.storage_index].relative_path, []).append(item)
        for name, items in by_file.items():
            if os.path.basename(name) != name:
                raise RuntimeError(f"a checkpoint names the file {name!r}, which is not in its folder")
            with open(self.path / name, "rb") as file:
                for item in items:
                    info = self.storage_data[item.storage_index]
                    file.seek(info.offset)
                    _take(item, file.read(info.length), planner)
        return _done(None)

    @property
    def checkpoint_id(self) -> Any:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        """Whether it is a path."""
        return FileSystemWriter.validate_checkpoint_id(checkpoint_id)


def _take(item: Any, data: bytes, planner: Any) -> None:
    """Hand what was read to the planner."""
    if item.type == LoadItemType.BYTE_IO:
        planner.load_bytes(item, io.BytesIO(data))
        return
    found = load(io.BytesIO(data), weights_only=True)
    for d, (start, length) in enumerate(zip(item.storage_offsets, item.lengths)):
        found = found.narrow(d, start, length)
    target = planner.resolve_tensor(item)
    if tuple(target.shape) != tuple(found.shape):
        raise AssertionError(f"req {item.storage_index} mismatch sizes {target.size()} vs {found.size()}")
    target.copy_(found)
    planner.commit_tensor(item, target)


def _path(*parts: Any) -> str:
    return os.path.join(*(p for p in parts if isinstance(p, str)))


def _home(kind: type) -> str:
    return kind.__module__.rpartition(".")[2]


def _no_storage(identifier: Any) -> Any:
    raise RuntimeError("the metadata of a checkpoint has no tensors")
