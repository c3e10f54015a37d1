"""The MPI world of this process: started by the first process group, ended when the program ends.

MPI can be started once in a process, and its world cannot grow. A process belongs to one in two ways: ``mpiexec`` (or a
cluster's launcher) has started it, or it knows its rank and a store, and ``wireup`` has MPI find the others there. What
is made of a world afterwards, or of several, ``joining`` makes.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import threading
import time
from contextlib import suppress
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import DistBackendError
from ..stores import HashStore, at_exit
from . import joining, watching
from .wireup import VARIABLES, Manager

if TYPE_CHECKING:
    from ..stores import Store

# Where launchers of MPI say which rank a process has: rank, size, rank and size on its node.
LAUNCHERS = (
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMIX_RANK", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
)
_GRACE = timedelta(seconds=5)  # which ranks that are done give the others, before they end on their own
_JOINING = ("MPICH", "Intel")  # how the versions of libraries begin that ask for their peers by PMI
_SAID = 0.3  # seconds in which mpiexec passes on what was printed, before it hears that the job is to end
MISSING = ("process groups need MPI, and mpi4py is not installed: pip install 'wengert[mpi]' installs it, and an MPI "
    "(MPICH) with it")


def available() -> bool:
    """Whether mpi4py is installed."""
    return find_spec("mpi4py") is not None


def launched() -> tuple[int, int, int | None, int | None] | None:
    """Rank and size, and those on this node, as a launcher of MPI has said; None if none has started this process."""
    if _world is not None and _world.pid == os.getpid():
        return None if _world.manager is not None else (_world.rank, _world.size, None, None)
    for names in LAUNCHERS:
        rank, size, local, on_node = (os.environ.get(name) for name in names)
        if rank is not None and size is not None:
            here = on_node is not None and on_node.isdigit()
            return int(rank), int(size), int(local) if local else None, int(on_node or 0) if here else None
    return None


def started_together(size: int = -1) -> bool:
    """Whether ``mpiexec``, and no ``torchrun``, has started this process as one of ``size``."""
    found = launched()
    return found is not None and "TORCHELASTIC_RUN_ID" not in os.environ and size in (-1, found[1])


class Processes:
    """Those of a communicator, and where they run."""

    def __init__(self, MPI: Any, comm: Any):
        self.MPI, self.comm = MPI, comm
        self.rank, self.size, self.pid = comm.Get_rank(), comm.Get_size(), os.getpid()
        self.peers: list[tuple[str, int]] = comm.allgather((socket.gethostname(), self.pid))
        self.host = self.peers[self.rank][0]
        # whether more ranks are here than processors: one that waits must leave its processor to the others
        self.crowded = sum(host == self.host for host, _ in self.peers) > _processors()
        forget_shared_memory()

    def ended(self, rank: int) -> bool:
        """Whether the process of a rank on this node has ended."""
        host, pid = self.peers[rank]
        return host == self.host and not _runs(pid)

    def stick(self) -> None:
        """Say that an operation is pending that will never end."""
        if _world is not None:
            _world.stuck = True

    @property
    def is_stuck(self) -> bool:
        """Whether one is."""
        return _world is not None and _world.stuck


class World(Processes):
    """MPI in this process."""

    def __init__(self, MPI: Any, library: Any, manager: Manager | None):
        super().__init__(MPI, MPI.COMM_WORLD)
        self.library, self.manager = library, manager
        self.stuck = False
        self.exit_code = 0  # with which the program is about to end
        here = {rank: pid for rank, (host, pid) in enumerate(self.peers) if host == self.host}
        self.first = min(here)  # of the ranks on this node
        self.connection: socket.socket | None = None
        if manager is None and self.size > 1:
            self._be_watched(here)
        at_exit(self.leave)

    def _be_watched(self, here: dict[int, int]) -> None:
        listening = watching.listen(len(here)) if self.rank == self.first else None
        self.comm.barrier()
        self.connection = watching.connect(here[self.first], self.rank)
        self.comm.barrier()
        self.watcher = None if listening is None else watching.start(listening, self.size, here)
        self.comm.barrier()  # nobody ends before it is seen

    def leave(self) -> None:
        """End MPI, in step with the other ranks unless the program has failed."""
        if os.getpid() != self.pid or self.MPI.Is_finalized():
            return
        failed = self.stuck or self.exit_code != 0 or getattr(sys, "last_value", None) is not None or _raising()
        sys.stdout.flush()
        if self.manager is None:
            watching.leave(self.connection)
            if failed:
                sys.stderr.flush()
                time.sleep(_SAID)
                self.MPI.COMM_WORLD.Abort(self.exit_code or 1)
            self.library.MPI_Finalize()
            return
        if not failed and self._all_leave(self.manager):
            self.library.MPI_Finalize()
        self.manager.close()

    def _all_leave(self, manager: Manager) -> bool:
        try:
            manager.barrier(_GRACE)
        except Exception:
            return False
        manager.leaving = True
        if self.rank == 0:  # which may serve the store: the others have read that all are there before it is gone
            with suppress(Exception):
                manager.store.wait([f"left/{rank}" for rank in range(1, self.size)], _GRACE)
        else:
            with suppress(Exception):
                manager.store.set(f"left/{self.rank}", "1")
        return True


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shared_memory(process: str) -> set[str]:
    """The names of MPI's shared memory that a process of this machine has mapped."""
    try:
        with open(f"/proc/{process}/maps", encoding="utf-8") as file:
            return {line.split()[5] for line in file if "/dev/shm/mpich_shm_" in line and "(deleted)" not in line}
    except OSError:
        return set()


def forget_shared_memory() -> None:
    """Take the names of MPI's shared memory away, so that nothing of it is left when processes are killed. Every rank
    has mapped it when this is called.
    """
    for path in shared_memory("self"):
        with suppress(OSError):
            os.unlink(path)


def _raising() -> bool:
    error = sys.exc_info()[1]
    return error is not None and not (isinstance(error, SystemExit) and error.code in (None, 0))


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return False
    except OSError:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


_world: World | None = None
_lock = threading.Lock()


def current() -> World | None:
    """The world, if MPI has been started."""
    return _world


def program_ends(code: Any) -> None:
    """Say with which exit code the program ends: with another than 0, the other ranks are not waited for."""
    if _world is not None and code not in (None, 0):
        _world.exit_code = code if isinstance(code, int) else 1


def start(rank: int, size: int, store: Store | None, timeout: timedelta) -> Processes:
    """The ``size`` processes of which this is number ``rank``; MPI is started if it has not been. Without a store they
    are those that ``mpiexec`` has started.
    """
    global _world
    with _lock:
        if _world is not None and _world.pid != os.getpid():
            raise RuntimeError("this process was forked from one in which MPI had been started, and cannot use it; "
                "start processes before init_process_group, or with the start method 'spawn'")
        if _world is None and (store is None or launched() is not None):
            _world = _start(rank, size, None, timeout)
        if store is None:
            return _world  # type: ignore[return-value]
        if not available():
            raise RuntimeError(MISSING)
        store, origins = joining.meet(store, rank, size, joining.origin_of(_world), timeout)
        if not any(origins):
            _world = _start(rank, size, store, timeout)
            return _world
        if _world is None:
            _world = _start(0, 1, HashStore(), timeout)
        return _of_worlds(_world, store, rank, size, origins)


def _of_worlds(world: World, store: Store, rank: int, size: int, origins: list[str]) -> Processes:
    ranks = joining.ranks_in(world, origins)
    if ranks == list(range(world.size)):
        return world
    if ranks is not None:
        return Processes(world.MPI, joining.part(world, ranks))
    _check_joins(world.MPI)
    return Processes(world.MPI, joining.join(world.MPI, store, rank, size))


def _start(rank: int, size: int, store: Store | None, timeout: timedelta) -> World:
    if not available():
        raise RuntimeError(MISSING)
    import mpi4py

    os.environ.setdefault("UCX_LOG_LEVEL", "fatal")  # that a peer is gone is said once, by us
    os.environ.setdefault("UCX_WARN_UNUSED_ENV_VARS", "n")
    mpi4py.rc.initialize = mpi4py.rc.finalize = False
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(f"mpi4py finds no MPI library ({error}): pip install 'wengert[mpi]' installs one") from error
    library = ctypes.CDLL(MPI.__file__)  # its calls let other threads run, mpi4py's start does not
    if MPI.Is_initialized():
        return World(MPI, library, None)
    manager = None
    if launched() is None and (size > 1 or _joins(MPI)):
        manager = _manage(MPI, rank, size, store, timeout)
    try:
        _initialise(MPI, library, manager)
    finally:
        for name in VARIABLES:
            os.environ.pop(name, None)
    return World(MPI, library, manager)


def joins_processes() -> bool:
    """Whether the MPI that is here makes a world of processes that were started one by one; false for Open MPI."""
    try:
        import mpi4py

        mpi4py.rc.initialize = mpi4py.rc.finalize = False
        from mpi4py import MPI
    except (ImportError, RuntimeError):
        return True  # the program itself will say what is missing
    return _joins(MPI)


def _joins(MPI: Any) -> bool:
    found: bool = MPI.Get_library_version().startswith(_JOINING)
    return found


def _check_joins(MPI: Any) -> None:
    if not _joins(MPI):
        raise RuntimeError(f"this MPI ({MPI.Get_library_version().split(',')[0]}) joins no processes that were not "
            "started together: start the program with `wengert torchrun`, or `mpiexec -n N wengert run`")


def _manage(MPI: Any, rank: int, size: int, store: Store | None, timeout: timedelta) -> Manager:
    _check_joins(MPI)
    if store is None:
        raise RuntimeError("processes find each other through a store, and there is none")
    manager = Manager(rank, size, store, timeout)
    manager.barrier()  # MPI itself would end the program if a rank did not come
    return manager


def _initialise(MPI: Any, library: Any, manager: Manager | None) -> None:
    if manager is not None:
        os.environ.update(manager.environment())
    provided = ctypes.c_int()
    code = library.MPI_Init_thread(None, None, int(MPI.THREAD_MULTIPLE), ctypes.byref(provided))
    if code != 0:
        reason = manager.failed if manager is not None else None
        raise DistBackendError(f"MPI_Init_thread failed with code {code}") from reason
    if provided.value < MPI.THREAD_MULTIPLE:
        raise DistBackendError("this MPI lets one thread at a time use it; process groups need MPI_THREAD_MULTIPLE")
