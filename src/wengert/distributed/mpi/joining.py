"""A world for processes of several worlds of MPI, or for some of one: programs call functions between processes that
are in process groups of other sizes, or make a group again with more processes than before.

Everyone says in the store to which world it belongs. A part of one world is a group of MPI. Worlds are joined by MPI's
dynamic processes, one process after the other; the names of MPI's ports travel over the store.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from ..stores import PrefixStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from ..stores import Store


def meet(store: Store, rank: int, size: int, origin: str, timeout: timedelta) -> tuple[PrefixStore, list[str]]:
    """Wait until all ``size`` processes have come here; a part of the store that they have used for nothing yet, and
    what each has said about itself.

    Nobody leaves before all have come, so counting them tells how often they have met in this store.
    """
    turn = PrefixStore(str((store.add("met", 1) - 1) // size), store)
    turn.set(f"origin/{rank}", origin)
    keys = [f"origin/{r}" for r in range(size)]
    turn.wait(keys, timeout)
    return turn, [value.decode() for value in turn.multi_get(keys)]


def origin_of(world: Any) -> str:
    """How a process says to which world it belongs, and as what: by the first process of that world."""
    return "" if world is None else "{}:{}/{}".format(*world.peers[0], world.rank)


def ranks_in(world: Any, origins: Sequence[str]) -> list[int] | None:
    """The ranks of the processes in a world; ``None`` if not all belong to it."""
    mine = origin_of(world).rpartition("/")[0]
    found = [origin.rpartition("/") for origin in origins]
    return [int(rank) for _, _, rank in found] if all(name == mine for name, _, _ in found) else None


def part(world: Any, ranks: Sequence[int]) -> Any:
    """A communicator of some processes of a world, in this order; they call it, and nobody else."""
    members = world.comm.Get_group().Incl(list(ranks))
    return world.comm.Create_group(members, zlib.crc32(repr(list(ranks)).encode()) % 32000)


def join(MPI: Any, store: Store, rank: int, size: int) -> Any:
    """A communicator of ``size`` processes of different worlds, of which this is number ``rank``."""
    comm = MPI.COMM_SELF
    for newcomer in range(max(rank, 1), size):
        if rank == newcomer:
            between = MPI.COMM_SELF.Connect(store.get(f"port/{newcomer}").decode())
        else:
            port = MPI.Open_port() if rank == 0 else ""
            if rank == 0:
                store.set(f"port/{newcomer}", port)
            between = comm.Accept(port, root=0)
            if rank == 0:
                MPI.Close_port(port)
        comm = between.Merge(rank == newcomer)
        between.Free()
    return comm
