"""Calls of functions in other processes, and joining the processes that can call each other."""

from __future__ import annotations

import os
import re
import threading
from datetime import timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any

from ..mpi import world as worlds
from ..rendezvous import rendezvous
from ..stores import PrefixStore
from . import agent as agents
from . import functions
from .agent import Agent, handles
from .constants import DEFAULT_INIT_METHOD, DEFAULT_SHUTDOWN_TIMEOUT, UNSET_RPC_TIMEOUT
from .gather import all_gather, barrier, wait_all_workers
from .options import BackendType, RpcBackendOptions, TensorPipeRpcBackendOptions, WorkerInfo
from .rref import RRef, invoke_method, remote_value, settle_references

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...futures import Future

__all__ = ["get_rpc_timeout", "get_worker_info", "init_rpc", "remote", "rpc_async", "rpc_sync", "shutdown"]

_NAME = re.compile(r"[A-Za-z0-9_:-]{1,127}")


def init_rpc(name: str, backend: Any = None, rank: int = -1, world_size: int | None = None,
        rpc_backend_options: RpcBackendOptions | None = None) -> None:
    """Join the processes that call each other, as ``name``; every process does so once.

    ``rank`` and ``world_size`` come from the launcher or the environment if they are not given.
    ``rpc_backend_options``: ``TensorPipeRpcBackendOptions``. Calls go by MPI.
    """
    if backend is not None and not isinstance(backend, BackendType):
        raise TypeError("Argument backend must be a member of BackendType")
    if rpc_backend_options is not None and not isinstance(rpc_backend_options, RpcBackendOptions):
        raise TypeError("Argument rpc_backend_options must be an instance of RpcBackendOptions")
    if agents.is_set():
        raise RuntimeError("RPC is already initialized")
    if not _NAME.fullmatch(name):
        raise RuntimeError("Worker name must match ^[A-Za-z0-9-_:]*$, and must be non-empty and shorter than 128 "
            f"chars, but got {name}")
    options = rpc_backend_options or TensorPipeRpcBackendOptions()
    from ..autograd import contexts

    world, rank = _world(rank, -1 if world_size is None else world_size, options.init_method)
    comm = world.comm.Split(0, rank)
    facts = comm.allgather((rank, name, world.rank))
    names = [fact[1] for fact in facts]
    if [fact[0] for fact in facts] != list(range(len(facts))):
        raise RuntimeError(f"the ranks of the workers are {[fact[0] for fact in facts]}: each number below their count "
            "must be there once")
    for each in names:
        if names.count(each) > 1:
            raise RuntimeError(f"RPC worker name {each} is not unique.")
    agents.context = contexts.CONTEXTS
    made = Agent(world, comm, names, [fact[2] for fact in facts], options)
    agents.set_current(made)
    comm.Barrier()  # nobody is called before it can answer
    worlds.forget_shared_memory()


def _world(rank: int, size: int, init_method: str) -> tuple[worlds.Processes, int]:
    timeout, there = timedelta(minutes=30), worlds.current()
    if worlds.started_together(size):
        world = worlds.start(rank, size, None, timeout)
        return world, world.rank if rank < 0 else rank
    if not worlds.available():
        raise RuntimeError(worlds.MISSING)
    nowhere = init_method == DEFAULT_INIT_METHOD and "MASTER_ADDR" not in os.environ
    if nowhere and there is not None and there.pid == os.getpid() and size in (-1, there.size):
        return there, there.rank if rank < 0 else rank
    store, rank, size = next(iter(rendezvous(init_method, rank, size, timeout)))
    store.set_timeout(timeout)
    return worlds.start(rank, size, PrefixStore(f"rpc/{size}", store.clone()), timeout), rank


def shutdown(graceful: bool = True, timeout: float = DEFAULT_SHUTDOWN_TIMEOUT) -> None:
    """Leave. With ``graceful`` every worker calls this, and waits until no call is under way anywhere; without it this
    one stops at once. ``timeout``: how many seconds to wait, 0: any number.
    """
    agent = agents.current()
    try:
        if graceful:
            agent.settle(timeout)
            settle_references(agent)
            agent.settle(timeout)
    finally:
        agent.stop()
        agents.set_current(None)
    if graceful:
        agent.barrier_comm.Barrier()
        agent.barrier_comm.Free()
        agent.comm.Free()


def _require_initialized(func: Callable[..., Any]) -> Callable[..., Any]:
    """``func``, which raises ``RuntimeError`` before ``init_rpc``; libraries decorate with it."""
    @wraps(func)
    def checked(*args: Any, **kwargs: Any) -> Any:
        agents.current()
        return func(*args, **kwargs)

    return checked


def get_worker_info(worker_name: str | None = None) -> WorkerInfo:
    """The worker of a name; without one, this process."""
    agent = agents.current()
    return agent.me if worker_name is None else agent.find(worker_name)


def get_rpc_timeout() -> float:
    """The seconds that calls may take if none are given."""
    return agents.current().timeout


def _set_rpc_timeout(seconds: float) -> None:
    agents.current().timeout = float(seconds)


_all_gather, _barrier, _wait_all_workers = all_gather, barrier, wait_all_workers
_get_current_rpc_agent, _is_current_rpc_agent_set = agents.current, agents.is_set


# -- calls -------------------------------------------------------------------------------------------------------------


def run(function: Any, args: Any, kwargs: Any) -> Any:
    """The result of a function; a future if it, or the method that it calls, was marked with ``async_execution``."""
    return function(*args, **kwargs) if function is invoke_method else functions.call(function, args, kwargs)


@handles("run")
def _run(agent: Agent, source: int, meta: Any, call: Any) -> Any:
    return run(*call)


def _invoke(to: Any, func: Callable[..., Any], args: Any, kwargs: Any, timeout: float, copy: bool) -> Future[Any]:
    if not callable(func):
        raise TypeError("function should be callable.")
    agent = agents.current()
    call = func, tuple(args or ()), dict(kwargs or {})
    return agent.call(agent.find(to).id, "run", None, call, timeout, copy, True)


def rpc_sync(to: Any, func: Callable[..., Any], args: Any = None, kwargs: Any = None,
        timeout: float = UNSET_RPC_TIMEOUT) -> Any:
    """Call ``func(*args, **kwargs)`` in another process and wait for the result. ``to``: a name, a number, an info.

    What the function raises is raised here, as ``ValueError``, ``TypeError`` or ``RuntimeError``, with the traceback of
    there in its text.
    """
    return _invoke(to, func, args, kwargs, timeout, False).wait()


def rpc_async(to: Any, func: Callable[..., Any], args: Any = None, kwargs: Any = None,
        timeout: float = UNSET_RPC_TIMEOUT) -> Future[Any]:
    """The same without waiting: a :class:`torch.futures.Future` of the result."""
    result = _invoke(to, func, args, kwargs, timeout, True)
    if _waited.futures is not None:
        _waited.futures.append(result)
    return result


def remote(to: Any, func: Callable[..., Any], args: Any = None, kwargs: Any = None,
        timeout: float = UNSET_RPC_TIMEOUT) -> RRef:
    """Call a function in another process and leave the result there; an :class:`RRef` to it, at once."""
    if not callable(func):
        raise TypeError("function should be callable.")
    agent = agents.current()
    return remote_value(agent, agent.find(to), (func, tuple(args or ()), dict(kwargs or {})), timeout, run)


class _Waited(threading.local):
    futures: list[Any] | None = None


_waited = _Waited()


class _wait_all:
    """On leaving it, wait for all futures of ``rpc_async`` that were begun inside; the value is their list."""

    def __enter__(self) -> list[Any]:
        _waited.futures = []
        return _waited.futures

    def __exit__(self, *error: object) -> None:
        futures, _waited.futures = _waited.futures, None
        for future in futures or ():
            future.wait()
