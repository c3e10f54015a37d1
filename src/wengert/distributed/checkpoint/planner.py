"""Plans: which process writes or reads what."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum, auto
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .metadata import ChunkStorageMetadata, MetadataIndex, TensorProperties

__all__ = ["LoadItemType", "LoadPlan", "LoadPlanner", "ReadItem", "SavePlan", "SavePlanner", "TensorWriteData",
    "WriteItem", "WriteItemType"]


class WriteItemType(Enum):
    """What is written: a whole tensor, a piece of one, or an object."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """What is read."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """The length of an object."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """A piece of a tensor that is to be written."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Any


@dataclass(frozen=True)
class WriteItem:
    """Something that one process writes."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """The bytes of its numbers."""
        if self.tensor_data is None:
            return None
        return prod(self.tensor_data.chunk.sizes) * int(self.tensor_data.properties.dtype.itemsize)


@dataclass(frozen=True)
class ReadItem:
    """A part of a saved piece, and where it goes in a piece that is wanted."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Any
    storage_index: MetadataIndex
    storage_offsets: Any
    lengths: Any


@dataclass(frozen=True)
class SavePlan:
    """What one process writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What one process reads."""

    items: list[ReadItem] = field(default_factory=list)
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(ABC):
    """Decides what is written: each process makes a plan, the first one joins them, each finishes its own."""

    @abstractmethod
    def set_up_planner(self, state_dict: Any, storage_meta: Any = None, is_coordinator: bool = False) -> None:
        """Begin: this is to be saved."""

    @abstractmethod
    def create_local_plan(self) -> SavePlan:
        """What this process could write."""

    @abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Any]:
        """What each process will write, and the metadata; on the first process."""

    @abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """Take what the first process has decided."""

    @abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Any:
        """The tensor, or the bytes in a ``BytesIO``."""


class LoadPlanner(ABC):
    """Decides what is read, and puts it where it belongs."""

    @abstractmethod
    def set_up_planner(self, state_dict: Any, metadata: Any = None, is_coordinator: bool = False) -> None:
        """Begin: this is to be filled."""

    @abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """What this process has to read."""

    @abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """What each process will read; on the first process."""

    @abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """Take what the first process has decided."""

    @abstractmethod
    def load_bytes(self, read_item: ReadItem, value: Any) -> None:
        """Take an object, as bytes."""

    def resolve_bytes(self, read_item: ReadItem) -> Any:
        """Where to put the bytes of an object."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Any:
        """The tensor that what is read is copied to."""

    @abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Any) -> None:
        """What was read has been copied."""
