"""The planners that are taken if no others are given."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

from ...serialization import load, save
from ...tensor import Tensor
from ...tensor.types import Size
from ..tensor import DTensor
from ..tensor._spec import compute_local_shape_and_global_offset
from ._nested import flatten_state_dict, set_element
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner", "create_default_global_save_plan",
    "create_default_local_load_plan", "create_default_local_save_plan"]


def chunk_of(x: Any) -> ChunkStorageMetadata:
    """The piece of a tensor that this process has."""
    if isinstance(x, DTensor):
        if any(p.is_partial() for p in x.placements):
            raise ValueError("Any checkpointing related operations are not supported for DTensor with partial "
                "placements!")
        sizes, offsets = compute_local_shape_and_global_offset(x.shape, x.device_mesh, x.placements)
        return ChunkStorageMetadata(offsets=Size(offsets), sizes=Size(sizes))
    return ChunkStorageMetadata(offsets=Size([0] * x.dim()), sizes=Size(x.shape))


def local_of(x: Any) -> Any:
    """This process's piece, without history."""
    return x._local_tensor.detach() if isinstance(x, DTensor) else x.detach()


class DefaultSavePlanner(SavePlanner):
    """Tensors that several processes have are written by one of them, pieces by their owners, objects by the first.

    ``flatten_state_dict``: nested dicts become names with dots. ``dedup_save_to_lowest_rank``: what several have, the
    first of them writes, not the one with least to do.
    """

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
            dedup_replicated_tensors: bool | None = None, dedup_save_to_lowest_rank: bool = False,
            enable_plan_caching: bool = False) -> None:
        self.flatten_state_dict, self.dedup_save_to_lowest_rank = flatten_state_dict, dedup_save_to_lowest_rank
        self.mappings: dict[str, Any] = {}

    def set_up_planner(self, state_dict: Any, storage_meta: Any = None, is_coordinator: bool = False) -> None:
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        if self.flatten_state_dict:
            plan = dataclasses.replace(plan, planner_data=self.mappings)
        self.plan = plan
        return plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        plans = _each_once(all_plans, self.dedup_save_to_lowest_rank)
        plans, metadata = create_default_global_save_plan(plans)
        if self.flatten_state_dict:
            metadata = dataclasses.replace(metadata,
                planner_data={k: v for p in plans for k, v in (p.planner_data or {}).items()})
        self.global_plan, self.metadata = plans, metadata
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Any:
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """The entry of the state dict, of a tensor this process's piece."""
        found = self.state_dict[index.fqn]
        return local_of(found) if isinstance(found, Tensor) else found

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """An object as bytes."""
        if write_item.type == WriteItemType.BYTE_IO:
            stream = io.BytesIO()
            save(object, stream)
            object = stream
        return object


def create_default_local_save_plan(state_dict: Any, is_coordinator: bool) -> SavePlan:
    """What a process could write: its tensors and pieces, and objects."""
    items = []
    for name, x in state_dict.items():
        if isinstance(x, Tensor):
            if isinstance(x, DTensor) and x.device_mesh.get_coordinate() is None:
                continue
            chunk = chunk_of(x)
            if isinstance(x, DTensor) and 0 in chunk.sizes and 0 not in x.shape:
                continue
            data = TensorWriteData(chunk, TensorProperties.create_from_tensor(x), Size(x.shape))
            kind = WriteItemType.SHARD if isinstance(x, DTensor) else WriteItemType.TENSOR
            items.append(WriteItem(MetadataIndex(name, chunk.offsets), kind, tensor_data=data))
        else:
            items.append(WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO))
    return SavePlan(items)


def _each_once(plans: list[SavePlan], lowest: bool) -> list[SavePlan]:
    """The plans without what another process writes."""
    who: dict[MetadataIndex, list[int]] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            who.setdefault(item.index, []).append(rank)
    sizes = {item.index: item.tensor_storage_size() or 1 for plan in plans for item in plan.items}
    load = [0] * len(plans)
    kept: list[set[MetadataIndex]] = [set() for _ in plans]
    for index, ranks in who.items():
        chosen = ranks[0] if lowest else min(ranks, key=lambda r: load[r])
        load[chosen] += sizes[index]
        kept[chosen].add(index)
    return [dataclasses.replace(p, items=[i for i in p.items if i.index in kept[r]]) for r, p in enumerate(plans)]


def create_default_global_save_plan(all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
    """The plans with the numbers of pieces, and the metadata."""
    found: dict[str, Any] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            name = item.index.fqn
            if item.tensor_data is None:
                found[name] = BytesStorageMetadata()
                items.append(item)
                continue
            data = item.tensor_data
            entry = found.setdefault(name, TensorStorageMetadata(data.properties, data.size, []))
            items.append(dataclasses.replace(item, index=MetadataIndex(name, item.index.offset, len(entry.chunks))))
            entry.chunks.append(data.chunk)
        plans.append(dataclasses.replace(plan, items=items))
    return plans, Metadata(found)


class DefaultLoadPlanner(LoadPlanner):
    """Fills the tensors of a state dict in place, each process its pieces, and puts objects in it.

    ``allow_partial_load``: what the checkpoint lacks stays as it is; usually that is an error.
    """

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
            allow_partial_load: bool = False) -> None:
        self.flatten_state_dict, self.allow_partial_load = flatten_state_dict, allow_partial_load
        self.mappings: dict[str, Any] = {}

    def set_up_planner(self, state_dict: Any, metadata: Any = None, is_coordinator: bool = False) -> None:
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def create_local_plan(self) -> LoadPlan:
        return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        return global_plan

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: Any) -> None:
        """An object; no code of it runs."""
        name = read_item.dest_index.fqn
        found = load(value, weights_only=True)
        self.state_dict[name] = found
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], found)

    def resolve_tensor(self, read_item: ReadItem) -> Any:
        target = self.lookup_tensor(read_item.dest_index)
        for d, (start, length) in enumerate(zip(read_item.dest_offsets, read_item.lengths)):
            target = target.narrow(d, start, length)
        return target

    def lookup_tensor(self, index: MetadataIndex) -> Any:
        """This process's piece of an entry."""
        return local_of(self.state_dict[index.fqn])

    def commit_tensor(self, read_item: ReadItem, tensor: Any) -> None:
        pass


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Loads what the checkpoint has, or those entries that ``keys`` names, into an empty dict."""

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: Any) -> None:
        self.keys = keys
        super().__init__(*args, **kwargs)

    def _wanted(self, name: str, metadata: Metadata) -> bool:
        if self.keys is None or name in self.keys:
            return True
        path = (metadata.planner_data or {}).get(name, (name,))
        return any(".".join(map(str, path[:i])) in self.keys for i in range(1, len(path) + 1))

    def set_up_planner(self, state_dict: Any, metadata: Any = None, is_coordinator: bool = False) -> None:
        from ...functions.places import PLACES

        for name, entry in metadata.state_dict_metadata.items():
            if not self._wanted(name, metadata):
                continue
            value: Any = entry
            if isinstance(entry, TensorStorageMetadata):
                value = PLACES["torch"]["empty"](tuple(entry.size), dtype=entry.properties.dtype)
            if metadata.planner_data is not None and name in metadata.planner_data:
                set_element(state_dict, metadata.planner_data[name], value)
            else:
                state_dict[name] = value
        super().set_up_planner(state_dict, metadata, is_coordinator)


def create_default_local_load_plan(state_dict: Any, metadata: Metadata, strict: bool = True) -> LoadPlan:
    """What a process reads: the parts of saved pieces that its pieces have."""
    items: list[ReadItem] = []
    for name, x in state_dict.items():
        if name not in metadata.state_dict_metadata:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            continue
        entry = metadata.state_dict_metadata[name]
        if isinstance(entry, BytesStorageMetadata) or not isinstance(x, Tensor):
            index = MetadataIndex(name)
            items.append(ReadItem(LoadItemType.BYTE_IO, index, Size((0,)), index, Size((0,)), Size((0,))))
            continue
        if tuple(entry.size) != tuple(x.shape):
            raise ValueError(f"Size mismatch between saved {entry.size} and current: {x.size()} for {name}")
        if not isinstance(x, DTensor) or x.device_mesh.get_coordinate() is not None:
            items += _overlaps(name, chunk_of(x), entry.chunks)
    return LoadPlan(items)


def _overlaps(name: str, wanted: ChunkStorageMetadata, saved: list[ChunkStorageMetadata]) -> Any:
    """What of each saved piece a wanted piece has."""
    for number, chunk in enumerate(saved):
        lengths, here, there = [], [], []
        for a, n, b, m in zip(wanted.offsets, wanted.sizes, chunk.offsets, chunk.sizes):
            start = max(a, b)
            lengths.append(min(a + n, b + m) - start)
            here.append(start - a)
            there.append(start - b)
        if all(n > 0 for n in lengths):
            yield ReadItem(LoadItemType.TENSOR, MetadataIndex(name, wanted.offsets), Size(here),
                MetadataIndex(name, chunk.offsets, number), Size(there), Size(lengths))
