"""What workers tell each other by calls: each gives an object and gets those of all."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from ...futures import Future
from . import agent as agents
from .agent import Agent, handles
from .constants import DEFAULT_SHUTDOWN_TIMEOUT, UNSET_RPC_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Iterable


class _Table:
    """How often this worker has met which others, and what has come to it where it is the first of them."""

    def __init__(self) -> None:
        self.lock, self.turns = threading.Lock(), Counter[tuple[str, ...]]()
        self.given: dict[Any, dict[str, Any]] = {}
        self.futures: dict[Any, Future[dict[str, Any]]] = {}


def _table(agent: Agent) -> _Table:
    with agent.lock:
        found: _Table = agent.tables.setdefault("gather", _Table())
    return found


@handles("gather")
def _gather(agent: Agent, source: int, key: tuple[tuple[str, ...], int], thing: Any) -> Future[dict[str, Any]]:
    table = _table(agent)
    with table.lock:
        given = table.given.setdefault(key, {})
        future = table.futures.setdefault(key, Future())
        given[agent.workers[source].name] = thing
        if len(given) < len(key[0]):
            return future
        del table.given[key], table.futures[key]
    future.set_result({name: given[name] for name in key[0]})
    return future


def all_gather(obj: Any, worker_names: Iterable[str] | None = None,
        timeout: float = UNSET_RPC_TIMEOUT) -> dict[str, Any]:
    """The objects of all workers, or of those named (none: all), who all call this: by name."""
    agent = agents.current()
    names = tuple(sorted(set(worker_names or ()) or {worker.name for worker in agent.workers}))
    if agent.me.name not in names:
        raise AssertionError(f"{agent.me.name} is not expected by leader.")
    table = _table(agent)
    with table.lock:
        table.turns[names] += 1
        key = names, table.turns[names]
    found: dict[str, Any] = agent.call(agent.find(names[0]).id, "gather", key, obj, timeout).wait()
    return found


def barrier(worker_names: Iterable[str]) -> None:
    """Wait until all workers that are named have come here."""
    all_gather(None, set(worker_names))


def wait_all_workers(timeout: float = DEFAULT_SHUTDOWN_TIMEOUT) -> None:
    """Wait until all workers have come here."""
    all_gather(None, timeout=timeout)
