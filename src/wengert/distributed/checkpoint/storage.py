"""Where checkpoints are: base classes of writers and readers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .metadata import MetadataIndex

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]


@dataclass(frozen=True)
class WriteResult:
    """What was written where."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(ABC):
    """Writes a checkpoint: plans come first, then the data of each process, then the first one finishes."""

    @abstractmethod
    def reset(self, checkpoint_id: Any = None) -> None:
        """A new checkpoint begins."""

    @abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Say whether this is the process that finishes."""

    @abstractmethod
    def prepare_local_plan(self, plan: Any) -> Any:
        """Add what only this process knows."""

    @abstractmethod
    def prepare_global_plan(self, plans: list[Any]) -> list[Any]:
        """Add what the first process decides for all."""

    @abstractmethod
    def write_data(self, plan: Any, planner: Any) -> Any:
        """Write what a plan says; a future of ``WriteResult``."""

    @abstractmethod
    def finish(self, metadata: Any, results: list[list[WriteResult]]) -> None:
        """Write the metadata: from now on the checkpoint is there."""

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        """Whether such a name can be written to."""
        raise NotImplementedError

    def storage_meta(self) -> Any:
        """What is said about the storage."""
        return None


class StorageReader(ABC):
    """Reads a checkpoint."""

    @abstractmethod
    def reset(self, checkpoint_id: Any = None) -> None:
        """Another checkpoint is read."""

    @abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Any:
        """What the checkpoint says about itself."""

    @abstractmethod
    def set_up_storage_reader(self, metadata: Any, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Take the metadata."""

    @abstractmethod
    def prepare_local_plan(self, plan: Any) -> Any:
        """Add what only this process knows."""

    @abstractmethod
    def prepare_global_plan(self, plans: list[Any]) -> list[Any]:
        """Add what the first process decides for all."""

    @abstractmethod
    def read_data(self, plan: Any, planner: Any) -> Any:
        """Read what a plan says, and hand it to the planner; a future."""

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        """Whether such a name can be read."""
        raise NotImplementedError
