"""Pickles of objects as bytes, gathered from the ranks of a group."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np

from .mpi import transport

if TYPE_CHECKING:
    from .group import ProcessGroup


def as_bytes(value: Any) -> Any:
    """The pickle of an object, as bytes."""
    return np.frombuffer(pickle.dumps(value), np.uint8)


def as_value(data: Any) -> Any:
    """The object of a pickle."""
    return pickle.loads(data.tobytes())


def gathered(group: ProcessGroup, data: Any, root: int | None, name: str) -> list[Any]:
    """The bytes of every rank, on the root or (None) on all."""
    sizes = [np.zeros(1, np.int64) for _ in range(group.size())]
    group.run(False, name, transport.all_gather, sizes, np.array([data.size]))
    longest = max(int(size[0]) for size in sizes)
    padded = np.zeros(longest, np.uint8)
    padded[: data.size] = data
    parts = [np.empty(longest, np.uint8) for _ in range(group.size())]
    if root is None:
        group.run(False, name, transport.all_gather, parts, padded)
    else:
        group.run(False, name, transport.gather, parts if group.rank() == root else [], padded, root)
    return [part[: int(size[0])] for part, size in zip(parts, sizes, strict=True)]
