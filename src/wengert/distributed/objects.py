"""Collectives of Python objects: pickled, sent as bytes, unpickled. Ranks must trust each other, as all pickles do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..functions.places import PLACES
from .collectives import _of_members, _peer, root_of
from .groups import group_of
from .mpi import transport
from .pickles import as_bytes, as_value, gathered

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
    "send_object_list"]


def _object_to_tensor(obj: Any, device: Any = None, group: Any = None) -> tuple[Any, Any]:
    """The bytes of a pickle, and how many there are, as tensors."""
    data = as_bytes(obj)
    return PLACES["torch"]["from_numpy"](data.copy()), PLACES["torch"]["from_numpy"](np.array([data.size]))


def _tensor_to_object(tensor: Any, tensor_size: Any, group: Any = None) -> Any:
    return as_value(tensor.numpy()[: int(tensor_size)])


@_of_members
def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Write the objects of all ranks to ``object_list``."""
    found = group_of(group)
    if len(object_list) < found.size():
        raise ValueError(f"object_list must have a place for each of the {found.size()} ranks")
    for i, data in enumerate(gathered(found, as_bytes(obj), None, "all_gather_object")):
        object_list[i] = as_value(data)


@_of_members
def gather_object(obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None,
        group_dst: int | None = None) -> None:
    """Write the objects of all ranks to the list of rank ``dst``, 0 if no other is named."""
    found = group_of(group)
    root = root_of(found, 0 if dst is None and group_dst is None else dst, group_dst, "gather_object")
    mine = found.rank() == root
    if mine and not object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    if not mine and object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must NOT be specified on non-destination ranks.")
    parts = gathered(found, as_bytes(obj), root, "gather_object")
    if object_gather_list is not None and mine:
        for i, data in enumerate(parts):
            object_gather_list[i] = as_value(data)


@_of_members
def broadcast_object_list(object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
        group_src: int | None = None) -> None:
    """Replace the objects in every rank's list by those of rank ``src``, 0 if no other is named."""
    found = group_of(group)
    root = root_of(found, 0 if src is None and group_src is None else src, group_src, "broadcast_object_list")
    size = np.zeros(1, np.int64)
    data = as_bytes(list(object_list)) if found.rank() == root else None
    if data is not None:
        size[0] = data.size
    found.run(False, "broadcast_object_list", transport.broadcast, size, root)
    buffer = np.empty(int(size[0]), np.uint8) if data is None else data
    found.run(False, "broadcast_object_list", transport.broadcast, buffer, root)
    if data is None:
        _fill(object_list, as_value(buffer))


def _fill(target: list[Any], values: Sequence[Any]) -> None:
    if len(values) != len(target):
        raise RuntimeError(f"a list of {len(values)} objects has come for a list of {len(target)}")
    target[:] = values


@_of_members
def scatter_object_list(scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None,
        src: int | None = None, group: Any = None, group_src: int | None = None) -> None:
    """Put the i-th object of the list of rank ``src`` in the first place of rank i's list."""
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    found = group_of(group)
    root = root_of(found, 0 if src is None and group_src is None else src, group_src, "scatter_object_list")
    sizes, parts = np.zeros(1, np.int64), []
    if found.rank() == root:
        if scatter_object_input_list is None or len(scatter_object_input_list) != found.size():
            raise ValueError("source rank must provide non-None scatter_object_input_list of the group's size")
        parts = [as_bytes(value) for value in scatter_object_input_list]
        sizes[0] = max(part.size for part in parts)
    found.run(False, "scatter_object_list", transport.broadcast, sizes, root)
    longest = int(sizes[0])
    padded = [np.concatenate([part, np.zeros(longest - part.size, np.uint8)]) for part in parts]
    buffer = np.empty(longest, np.uint8)
    found.run(False, "scatter_object_list", transport.scatter, buffer, padded, root)
    scatter_object_output_list[0] = as_value(buffer)  # a pickle says itself where it ends


@_of_members
def send_object_list(object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None,
        group_dst: int | None = None, use_batch: bool = False) -> None:
    """Send the objects of a list to a rank."""
    found = group_of(group)
    target = _peer(found, dst, group_dst, "send")
    data = as_bytes(list(object_list))
    for array in (np.array([data.size]), data):
        found.begin("send_object_list", transport.send, array, target, 0, ranks=[found.ranks[target]]).wait()


@_of_members
def recv_object_list(object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
        group_src: int | None = None, use_batch: bool = False) -> int:
    """Receive the objects of a list from a rank, or from whichever sends; the sender's rank in the world."""
    found = group_of(group)
    source = None if src is None and group_src is None else _peer(found, src, group_src, "recv")
    size, came = np.zeros(1, np.int64), []  # type: ignore[var-annotated]
    ranks = found.members if source is None else [found.ranks[source]]
    found.begin("recv_object_list", transport.receive, size, source, 0, came.append, ranks=ranks).wait()
    buffer = np.empty(int(size[0]), np.uint8)
    found.begin("recv_object_list", transport.receive, buffer, came[0], 0, ranks=[found.ranks[came[0]]]).wait()
    _fill(object_list, as_value(buffer))
    return found.ranks[came[0]]
