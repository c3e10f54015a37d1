"""``save`` and ``async_save``."""

from __future__ import annotations

import threading
import time
import warnings
from concurrent.futures import Future
from typing import Any

from ...serialization import load as load_file
from ...serialization import save as save_file
from ...serialization.atomic import write_whole
from ...tensor import Tensor
from ..tensor import DTensor
from ._ends import writer
from ._processes import Processes, is_alone
from .default_planner import DefaultSavePlanner
from .filesystem import _StorageInfo
from .metadata import Metadata, MetadataIndex
from .stateful import Stateful
from .storage import WriteResult

__all__ = ["async_save", "save", "save_state_dict"]


def save(state_dict: Any, *, checkpoint_id: Any = None, storage_writer: Any = None, planner: Any = None,
        process_group: Any = None, no_dist: bool = False, use_collectives: bool = True) -> Metadata:
    """Write ``state_dict`` to the folder ``checkpoint_id``, all processes of ``process_group`` together.

    DTensors are written piece by piece, tensors that all have by one, other objects by the first process. Objects with
    ``state_dict()`` are asked for it. Every process has to call it. Killed in between, it leaves the checkpoint that
    was there before, or none.

    >>> import tempfile, warnings; warnings.simplefilter("ignore")
    >>> import wengert.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"w": torch.ones(2)}, checkpoint_id=folder)
    ...     state = {"w": torch.zeros(2)}
    ...     dcp.load(state, checkpoint_id=folder)
    >>> state["w"]
    tensor([1., 1.])
    """
    alone = is_alone(no_dist)
    if alone and not no_dist:
        warnings.warn("torch.distributed is disabled, unavailable or uninitialized, assuming the intent is to save in "
            "a single process.", stacklevel=2)
    return _saved(asked(state_dict), writer(storage_writer, checkpoint_id), Processes(process_group, alone), planner)


def save_state_dict(state_dict: Any, storage_writer: Any, process_group: Any = None, coordinator_rank: int = 0,
        no_dist: bool = False, planner: Any = None) -> Metadata:
    """``save``, by an older name."""
    storage_writer.reset()
    return _saved(asked(state_dict), storage_writer, Processes(process_group, is_alone(no_dist), coordinator_rank),
        planner)


def asked(state_dict: Any) -> dict[str, Any]:
    """The state of objects that have one, in their place."""
    return {k: v.state_dict() if isinstance(v, Stateful) else v for k, v in state_dict.items()}


def _planned(state_dict: Any, storage: Any, processes: Processes, planner: Any) -> tuple[Any, Any, Any]:
    planner = planner or DefaultSavePlanner()
    made: list[Any] = []

    def here() -> Any:
        planner.set_up_planner(state_dict, storage.storage_meta(), processes.is_coordinator)
        storage.set_up_storage_writer(processes.is_coordinator, rank=processes.rank)
        return storage.prepare_local_plan(planner.create_local_plan())

    def joined(plans: list[Any]) -> Any:
        plans, metadata = planner.create_global_plan(plans)
        made.append(metadata)
        return storage.prepare_global_plan(plans)

    plans = processes.step("plan", here, joined)
    return planner, planner.finish_plan(plans[processes.rank]), made[0] if made else None


def _saved(state_dict: Any, storage: Any, processes: Processes, planner: Any) -> Metadata:
    planner, plan, metadata = _planned(state_dict, storage, processes, planner)

    def finish(results: list[Any]) -> Any:
        storage.finish(metadata, results)
        return metadata

    found: Metadata = processes.step("write", lambda: storage.write_data(plan, planner).wait(), finish)
    return found


# -- while the program goes on ----------------------------------------------------------------------------------------


def async_save(state_dict: Any, *, checkpoint_id: Any = None, storage_writer: Any = None, planner: Any = None,
        process_group: Any = None, async_checkpointer_type: Any = None, async_stager: Any = None, no_dist: bool = False,
        use_collectives: bool = True) -> Any:
    """``save`` of a copy, in a thread: a future, whose ``result()`` waits for the checkpoint to be there.

    The processes agree on a plan before it returns; afterwards they speak through the folder alone, so the program may
    use collectives meanwhile.
    """
    processes = Processes(process_group, is_alone(no_dist))
    storage = writer(storage_writer, checkpoint_id)
    planner, plan, metadata = _planned(copied(asked(state_dict)), storage, processes, planner)
    token = processes.everyone(storage.save_id if hasattr(storage, "save_id") else None)[processes.coordinator]
    found: Future[Any] = Future()

    def run() -> None:
        try:
            results = storage.write_data(plan, planner).wait()
            if processes.size > 1:
                found.set_result(_through_folder(storage, processes, results, metadata, token))
            else:
                storage.finish(metadata, [results])
                found.set_result(metadata)
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=run, name="checkpoint").start()
    return found


def copied(v: Any) -> Any:
    """A state dict that the program no longer changes."""
    if isinstance(v, DTensor):
        return DTensor(v._local_tensor.detach().clone(), v._spec)
    if isinstance(v, Tensor):
        return v.detach().clone()
    if isinstance(v, dict):
        return {k: copied(x) for k, x in v.items()}
    return type(v)(map(copied, v)) if type(v) in (list, tuple) else v


_POLL, _LONGEST = 0.01, 1800.0  # seconds between two looks at the folder, and until they end


def _through_folder(storage: Any, processes: Processes, results: Any, metadata: Any, token: str) -> Any:
    """Tell the coordinator by a file what was written; it finishes when it has those of all."""
    path, names = storage.path, [f".written_{token}_{r}" for r in range(processes.size)]
    rows = [(r.index.fqn, None if r.index.offset is None else tuple(r.index.offset), r.index.index, r.size_in_bytes,
        r.storage_data.relative_path, r.storage_data.offset, r.storage_data.length) for r in results]
    write_whole(path / names[processes.rank], lambda file: save_file(rows, file))
    until = time.monotonic() + _LONGEST
    while not (all((path / n).exists() for n in names) if processes.is_coordinator
            else not (path / names[processes.rank]).exists()):
        if time.monotonic() > until:
            raise TimeoutError("the other processes have not finished the checkpoint")
        time.sleep(_POLL)
    if not processes.is_coordinator:
        return None
    everyone = [_told(load_file(path / n, weights_only=True)) for n in names]
    storage.finish(metadata, everyone)
    for n in names:
        (path / n).unlink()
    return metadata


def _told(rows: Any) -> list[WriteResult]:
    return [WriteResult(MetadataIndex(name, offset, index), size, _StorageInfo(file, start, length))
        for name, offset, index, size, file, start, length in rows]
