"""Joining a world of processes, and its groups."""

from __future__ import annotations

import os
import socket
import warnings
import zlib
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from .group import ProcessGroup
from .mpi import world as worlds
from .rendezvous import rendezvous
from .stores import FileStore, PrefixStore, Store
from .tcp_store import TCPStore
from .types import Backend, BackendConfig, DebugLevel, default_pg_timeout, get_debug_level

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "GroupMember", "destroy_process_group", "get_backend", "get_backend_config", "get_default_backend_for_device",
    "get_global_rank", "get_group_rank", "get_pg_count", "get_process_group_ranks", "get_rank", "get_world_size",
    "group", "init_process_group", "is_initialized", "new_group", "new_subgroups", "new_subgroups_by_enumeration",
    "shrink_group", "split_group",
]

UNINITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."
_MPI = ("mpi", "gloo")  # what these names mean: MPI


class _Members(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        return _default

    @WORLD.setter
    def WORLD(cls, value: ProcessGroup | None) -> None:
        global _default
        _default = value


class GroupMember(metaclass=_Members):
    """``WORLD``: the group of all ranks. ``NON_GROUP_MEMBER``: what ``new_group`` gives ranks outside of the group."""

    NON_GROUP_MEMBER = -100


class group(GroupMember):
    """``group.WORLD`` is the group of all ranks."""


_default: ProcessGroup | None = None
_groups: dict[str, ProcessGroup] = {}
_counts: Counter[str] = Counter()  # of groups that were made, for their names


def is_initialized() -> bool:
    """Whether ``init_process_group`` has been called."""
    return _default is not None


def default_group() -> ProcessGroup:
    """The group of all ranks; ``ValueError`` if there is none."""
    if _default is None:
        raise ValueError(UNINITIALIZED)
    return _default


def group_of(group: Any) -> ProcessGroup:
    """The group that a function was given: ``None`` is the group of all ranks."""
    if group is None:
        return default_group()
    default_group()
    if isinstance(group, str):
        return _groups[group]
    return group  # type: ignore[no-any-return]


def outside(group: Any) -> bool:
    """Whether this process is not in a group."""
    return isinstance(group, int) and group == GroupMember.NON_GROUP_MEMBER


def check_backend(name: str | None) -> str:
    """The backend for CPU tensors among those named; an error for those that are not there."""
    text = (name or "mpi").lower()
    config = BackendConfig(text).get_device_backend_map() if ":" in text else {"cpu": text}
    backend = config.get("cpu")
    if backend in _MPI:
        return backend
    if backend is None or backend in ("nccl", "rccl", "xccl", "ucc"):
        backend = backend or next(iter(config.values()))
        raise RuntimeError(f"the backend {backend!r} needs GPUs, and there is no GPU that MPI would send from here: "
            "init_process_group('gloo'), or 'mpi', joins processes with tensors on the CPU")
    raise AssertionError(f"Unknown backend type {backend}: 'gloo' and 'mpi' are here, and both are MPI")


def init_process_group(backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None,
        world_size: int = -1, rank: int = -1, store: Store | None = None, group_name: str = "", pg_options: Any = None,
        device_id: Any = None, _ranks: Any = None) -> None:
    """Join the processes that ``wengert torchrun``, ``mpiexec`` or the program itself has started to one group.

    ``backend``: ``"gloo"``, ``"mpi"`` or nothing mean MPI. Rank and number of ranks come from the launcher or the
    environment (``env://``), are given beside an address (``tcp://host:port``, ``file:///path``), or beside a store.
    ``timeout``: how long operations may take, 30 minutes without it.
    """
    global _default
    if _default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    timeout = default_pg_timeout if timeout is None else timeout
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    backend = check_backend(backend)
    if store is not None:
        if world_size <= 0:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise ValueError("rank must be non-negative if using store")
        world = worlds.start(rank, world_size, PrefixStore(f"mpi/{world_size}", store.clone()), timeout)
    elif init_method is None and worlds.started_together(world_size):
        world = worlds.start(rank, world_size, None, timeout)
        rank, world_size, store = world.rank, world.size, _own_store(world, timeout)
    else:
        if not worlds.available():
            raise RuntimeError(worlds.MISSING)
        store, rank, world_size = next(iter(rendezvous(init_method or "env://", rank, world_size, timeout)))
        store.set_timeout(timeout)
        world = worlds.start(rank, world_size, PrefixStore(f"mpi/{world_size}", store.clone()), timeout)
    comm = world.comm.Split(0, rank)
    number = comm.allreduce(_counts["world"] + 1, world.MPI.MAX)  # some may have been in more worlds than others
    _counts.clear()
    _counts["world"] = number
    _default = _made(world, comm, _in_order(comm, rank), backend, PrefixStore(f"world{_counts['world']}", store),
        timeout, group_name or "0", "default_pg")
    FileStore.in_a_group = True


def _own_store(world: worlds.Processes, timeout: timedelta) -> Store:
    """A store of rank 0, of which MPI tells the others."""
    if world.rank == 0:
        master = TCPStore("localhost", 0, world.size, True, timeout, wait_for_workers=False)
        host = "localhost" if all(p[0] == world.host for p in world.peers) else socket.gethostname()
        world.comm.bcast((host, master.port))
        return master
    host, port = world.comm.bcast(None)
    return TCPStore(host, port, world.size, False, timeout)


def _in_order(comm: Any, rank: int) -> list[int]:
    ranks: list[int] = comm.allgather(rank)
    if ranks != list(range(len(ranks))):
        raise ValueError(f"the ranks of the {len(ranks)} processes are {ranks}: each number below their count must be "
            "there once")
    return ranks


def _made(world: Any, comm: Any, ranks: Sequence[int], backend: str, store: Store, timeout: timedelta, name: str,
        description: str) -> ProcessGroup:
    made = ProcessGroup(world, comm, ranks, backend, store, timeout, name, description)
    if get_debug_level() is DebugLevel.DETAIL:
        made._detail_comm = comm.Dup()
    comm.Barrier()
    worlds.forget_shared_memory()
    _groups[name] = made
    return made


def destroy_process_group(group: Any = None) -> None:
    """Leave a group, or all of them; ``init_process_group`` may be called again after that."""
    global _default
    if outside(group):
        return
    found = _default if group is None else group
    if found is None or _default is None:
        raise AssertionError("Process group cannot be None")
    if found is not _default and found.group_name not in _groups:
        raise ValueError("Invalid process group specified")
    if found is not _default:
        del _groups[found.group_name]
        found.shutdown()
        return
    for each in list(_groups.values()):
        each.shutdown()
    _groups.clear()
    _default = None
    FileStore.in_a_group = False


def get_rank(group: Any = None) -> int:
    """The rank of this process in a group; -1 outside of it."""
    return -1 if outside(group) else group_of(group).rank()


def get_world_size(group: Any = None) -> int:
    """The number of ranks of a group; -1 outside of it."""
    return -1 if outside(group) else group_of(group).size()


def get_process_group_ranks(group: Any) -> list[int]:
    """The ranks of the world that are in a group."""
    return list(group_of(group).ranks)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The rank of the world that is ``group_rank`` of a group."""
    ranks = group_of(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_group_rank(group: Any, global_rank: int) -> int:
    """The rank in a group of a rank of the world."""
    found = group_of(group)
    if global_rank not in found.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return found.ranks.index(global_rank)


def get_backend(group: Any = None) -> str:
    """The name of a group's backend, as it was asked for."""
    if outside(group):
        raise ValueError("Invalid process group specified")
    return group_of(group).name()


def get_backend_config(group: Any = None) -> str:
    """The backends of a group by devices."""
    return str(BackendConfig(get_backend(group)))


def get_default_backend_for_device(device: Any) -> str:
    """The backend for a device: ``"gloo"``, which is MPI, for the CPU."""
    name = str(getattr(device, "type", device)).partition(":")[0]
    if name not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[name]


def get_pg_count() -> int:
    """The number of groups."""
    return len(_groups)


def new_group(ranks: Sequence[int] | None = None, timeout: timedelta | None = None, backend: str | None = None,
        pg_options: Any = None, use_local_synchronization: bool = False, group_desc: str | None = None,
        device_id: Any = None, sort_ranks: bool = True) -> Any:
    """A group of some ranks of the world. All ranks call this, in the same order, also those outside of it, which get
    ``GroupMember.NON_GROUP_MEMBER``; with ``use_local_synchronization`` only its members do.
    """
    whole = default_group()
    chosen = list(range(whole.size())) if ranks is None else sorted(ranks) if sort_ranks else list(ranks)
    if len(set(chosen)) != len(chosen):
        raise ValueError("the new group has duplicated ranks")
    if len(chosen) > whole.size():
        raise ValueError("the new group's world size should be less or equal to the world size set by "
            "init_process_group")
    for rank in chosen:
        if not 0 <= rank < whole.size():
            raise ValueError(f"Rank {rank} is out of range. Valid ranks are 0 to {whole.size() - 1} "
                f"(world_size={whole.size()})")
    backend = whole.name() if backend is None else check_backend(backend)
    if use_local_synchronization:
        key = "-".join(map(str, chosen))
        name = f"local-{key}-{_counts[key]}"
        _counts[key] += 1
    else:
        _counts["groups"] += 1
        name = str(_counts["groups"])
    if whole.rank() not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    return _join(whole, chosen, backend, timeout or whole._timeout, name, group_desc or "undefined")


def _join(whole: ProcessGroup, ranks: Sequence[int], backend: str, timeout: timedelta, name: str,
        description: str) -> ProcessGroup:
    store = PrefixStore(f"group{name}", whole.get_group_store())
    me = list(ranks).index(whole.rank())
    if len(ranks) > 1:  # MPI would wait for ever for one that does not come
        store.set(f"here/{me}", "1")
        store.wait([f"here/{i}" for i in range(len(ranks))], timeout)
    members = whole.comm.Get_group().Incl(list(ranks))
    comm = whole.comm.Create_group(members, zlib.crc32(name.encode()) % 32000)
    return _made(whole._world, comm, ranks, backend, store, timeout, name, description)


def new_subgroups(group_size: int | None = None, group: Any = None, timeout: timedelta | None = None,
        backend: str | None = None, pg_options: Any = None, group_desc: str | None = None) -> tuple[Any, list[Any]]:
    """Groups of ``group_size`` successive ranks; the one that this process is in, and all of them."""
    ranks = get_process_group_ranks(group)
    if group_size is None:
        group_size = int(os.environ.get("LOCAL_WORLD_SIZE", len(ranks)))
        warnings.warn("Default group size is the number of processes on this node: LOCAL_WORLD_SIZE", stacklevel=2)
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if len(ranks) < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({len(ranks)})")
    if len(ranks) % group_size:
        raise ValueError(f"The world size ({len(ranks)}) must be divisible by '{group_size=}'")
    return new_subgroups_by_enumeration([ranks[i : i + group_size] for i in range(0, len(ranks), group_size)], timeout,
        backend, pg_options, group_desc)


def new_subgroups_by_enumeration(ranks_per_subgroup_list: Sequence[Sequence[int]], timeout: timedelta | None = None,
        backend: str | None = None, pg_options: Any = None, group_desc: str | None = None) -> tuple[Any, list[Any]]:
    """Groups of the ranks that are listed; the one that this process is in, and all of them."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    taken: dict[int, Sequence[int]] = {}
    made, mine = [], None
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in taken:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {taken[rank]} and {ranks}")
            taken[rank] = ranks
    for ranks in ranks_per_subgroup_list:
        made.append(new_group(ranks, timeout, backend, pg_options, group_desc=group_desc))
        if get_rank() in ranks:
            mine = made[-1]
    return mine, made


def split_group(parent_pg: Any = None, split_ranks: Sequence[Sequence[int]] | None = None,
        timeout: timedelta | None = None, pg_options: Any = None, group_desc: str | None = None,
        backend: str | None = None) -> Any:
    """The part of a group that this process is in; ``split_ranks`` lists the ranks (of the group) of each part."""
    parent = group_of(parent_pg)
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parts = [[parent.ranks[i] for i in part] for part in split_ranks]
    mine = None
    for part in parts:
        if default_group().rank() in part:
            mine = new_group(part, timeout, backend, pg_options, use_local_synchronization=True, group_desc=group_desc)
    return mine


def shrink_group(ranks_to_exclude: Sequence[int], group: Any = None, shrink_flags: int = 0,
        pg_options: Any = None) -> ProcessGroup:
    """The group without some of its ranks, which must not call this; the old one is no longer used."""
    global _default
    old = group_of(group)
    if old.rank() in ranks_to_exclude:
        raise RuntimeError(f"Rank {old.rank()} is excluded and must not call shrink_group")
    ranks = [rank for i, rank in enumerate(old.ranks) if i not in ranks_to_exclude]
    return new_group(ranks, old._timeout, old.name(), use_local_synchronization=True)  # type: ignore[no-any-return]
