"""From a checkpoint of many files to one of ``torch.save``, and back."""

from __future__ import annotations

from typing import Any

from ...serialization import load as load_file
from ...serialization import save as save_file
from ._processes import Processes
from .default_planner import _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .state_dict_loader import _load_state_dict
from .state_dict_saver import _saved

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir: Any, torch_save_path: Any) -> None:
    """Write the checkpoint in a folder, all of it, to one file; in one process."""
    state: dict[str, Any] = {}
    _load_state_dict(state, FileSystemReader(dcp_checkpoint_dir), no_dist=True, planner=_EmptyStateDictLoadPlanner())
    save_file(state, torch_save_path)


def torch_save_to_dcp(torch_save_path: Any, dcp_checkpoint_dir: Any) -> None:
    """Write the state dict in a file to a checkpoint in a folder; in one process."""
    _saved(load_file(torch_save_path, weights_only=True), FileSystemWriter(dcp_checkpoint_dir), Processes(alone=True),
        None)
