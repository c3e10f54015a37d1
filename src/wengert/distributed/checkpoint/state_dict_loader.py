"""``load``."""

from __future__ import annotations

import warnings
from typing import Any

from ._ends import reader
from ._processes import Processes, is_alone
from .default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from .stateful import Stateful

__all__ = ["load", "load_state_dict"]


def load(state_dict: Any, *, checkpoint_id: Any = None, storage_reader: Any = None, planner: Any = None,
        process_group: Any = None, no_dist: bool = False) -> None:
    """Fill ``state_dict`` from the checkpoint in the folder ``checkpoint_id``, in place.

    Each process reads what it needs: the pieces may be others than those that were saved. Objects with
    ``load_state_dict`` are given their state. Nothing in a file is run.
    """
    alone = is_alone(no_dist)
    if alone and not no_dist:
        warnings.warn("torch.distributed is disabled, unavailable or uninitialized, assuming the intent is to load in "
            "a single process.", stacklevel=2)
    processes = Processes(process_group, alone)
    storage = reader(storage_reader, checkpoint_id)
    names = sorted(dict.fromkeys(k for row in processes.everyone([str(k) for k in state_dict]) for k in row))
    by_name = {str(k): v for k, v in state_dict.items()}
    state = {k: by_name[k].state_dict() if isinstance(by_name[k], Stateful) else by_name[k]
        for k in names if k in by_name}
    _loaded(state, storage, processes, planner)
    for key, value in list(state_dict.items()):
        if isinstance(value, Stateful):
            value.load_state_dict(state[str(key)])
        else:
            state_dict[key] = state[str(key)]


def load_state_dict(state_dict: Any, storage_reader: Any, process_group: Any = None, coordinator_rank: int = 0,
        no_dist: bool = False, planner: Any = None) -> None:
    """``load``, by an older name; objects with a state are not asked."""
    storage_reader.reset()
    _load_state_dict(state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner)


def _loaded(state_dict: Any, storage: Any, processes: Processes, planner: Any) -> None:
    planner = planner or DefaultLoadPlanner()

    def here() -> Any:
        metadata = storage.read_metadata()
        planner.set_up_planner(state_dict, metadata, processes.is_coordinator)
        storage.set_up_storage_reader(metadata, processes.is_coordinator, rank=processes.rank)
        return storage.prepare_local_plan(planner.create_local_plan())

    plans = processes.step("plan", here,
        lambda plans: storage.prepare_global_plan(planner.create_global_plan(plans)))
    plan = planner.finish_plan(plans[processes.rank])
    processes.step("read", lambda: storage.read_data(plan, planner).wait())


def _load_state_dict(state_dict: Any, storage_reader: Any, process_group: Any = None, coordinator_rank: int = 0,
        no_dist: bool = False, planner: Any = None) -> None:
    _loaded(state_dict, storage_reader, Processes(process_group, is_alone(no_dist), coordinator_rank), planner)


def _load_state_dict_from_keys(keys: Any = None, *, checkpoint_id: Any = None, storage_reader: Any = None,
        process_group: Any = None) -> dict[str, Any]:
    """The entries of a checkpoint that ``keys`` names, or all, whole on every process."""
    state: dict[str, Any] = {}
    wanted = {keys} if isinstance(keys, str) else None if keys is None else set(keys)
    _loaded(state, reader(storage_reader, checkpoint_id), Processes(process_group, is_alone(False)),
        _EmptyStateDictLoadPlanner(wanted or None))
    return state
