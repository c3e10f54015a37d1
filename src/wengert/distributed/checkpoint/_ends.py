"""Which writer or reader a call means."""

from __future__ import annotations

from typing import Any

from .filesystem import FileSystemReader, FileSystemWriter


def writer(given: Any, checkpoint_id: Any) -> Any:
    """The writer that was given, else one for the folder ``checkpoint_id``."""
    if given is not None:
        given.reset(checkpoint_id)
        return given
    return FileSystemWriter(_named(checkpoint_id))


def reader(given: Any, checkpoint_id: Any) -> Any:
    """The reader that was given, else one for the folder ``checkpoint_id``."""
    if given is not None:
        given.reset(checkpoint_id)
        return given
    return FileSystemReader(_named(checkpoint_id))


def _named(checkpoint_id: Any) -> Any:
    if not checkpoint_id:
        raise RuntimeError("`checkpoint_id` must be specificed if storage_reader and storage_writer are not given.")
    return checkpoint_id
