"""How processes find each other: ``env://``, ``tcp://host:port``, ``file://path``, each of which gives a store."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlparse

from .stores import FileStore, PrefixStore, Store
from .tcp_store import TCPStore
from .types import default_pg_timeout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import timedelta

__all__ = ["register_rendezvous_handler", "rendezvous"]

Handler = "Callable[..., Iterator[tuple[Store, int, int]]]"
_handlers: dict[str, Any] = {}


def register_rendezvous_handler(scheme: str, handler: Callable[..., Iterator[tuple[Store, int, int]]]) -> None:
    """Let ``handler(url, timeout, ...)`` serve addresses of a scheme: it yields a store, a rank and a size."""
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = default_pg_timeout,
        **kwargs: Any) -> Iterator[tuple[Store, int, int]]:
    """Yield the store, the rank and the number of ranks that an address leads to."""
    if not isinstance(url, (str, bytes)):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    if not isinstance(rank, int):
        raise RuntimeError(f"`rank` must be an integer. {rank}")
    if not isinstance(world_size, int):
        raise RuntimeError(f"`world_size` must be an integer. {world_size}")
    scheme = urlparse(str(url)).scheme
    if scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {scheme}://")
    return _handlers[scheme](url, timeout=timeout, rank=rank, world_size=world_size)  # type: ignore[no-any-return]


def _error(message: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {message}")


def _numbers(url: str, rank: int, world_size: int) -> tuple[int, int]:
    """Rank and size of an address (``?rank=0&world_size=2``), or those given beside it."""
    query = dict(parse_qsl(urlparse(url).query))
    return (int(query.get("rank", rank)) if rank < 0 else rank,
        int(query.get("world_size", world_size)) if world_size < 0 else world_size)


def _file(url: str, timeout: timedelta, rank: int, world_size: int) -> Iterator[tuple[Store, int, int]]:
    path = urlparse(url).path
    if not path:
        raise _error("file:// rendezvous: path missing")
    rank, world_size = _numbers(url, rank, world_size)
    if rank < 0:
        raise _error("file:// rendezvous: rank parameter missing")
    if world_size < 0:
        raise _error("file:// rendezvous: world size parameter missing")
    store = FileStore(path, world_size)
    store.set_timeout(timeout)
    yield store, rank, world_size
    raise RuntimeError("Unable to perform rerendezvous using file:// method")


def _tcp(url: str, timeout: timedelta, rank: int, world_size: int) -> Iterator[tuple[Store, int, int]]:
    place = urlparse(url)
    if not place.port:
        raise _error("tcp:// rendezvous: port number missing")
    rank, world_size = _numbers(url, rank, world_size)
    if rank < 0:
        raise _error("tcp:// rendezvous: rank parameter missing")
    if world_size < 0:
        raise _error("tcp:// rendezvous: world size parameter missing")
    yield _store(place.hostname or "", place.port, rank, world_size, timeout), rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using tcp:// method")


def _env(url: str, timeout: timedelta, rank: int, world_size: int) -> Iterator[tuple[Store, int, int]]:
    def of(name: str) -> str:
        value = os.environ.get(name)
        if value is None:
            raise _error(f"env:// rendezvous: environment variable {name} expected, but not set")
        return value

    rank, world_size = _numbers(url, rank, world_size)
    rank = int(of("RANK")) if rank < 0 else rank
    world_size = int(of("WORLD_SIZE")) if world_size < 0 else world_size
    host, port = of("MASTER_ADDR"), int(of("MASTER_PORT"))
    yield _store(host, port, rank, world_size, timeout), rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using env:// method")


def _store(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> Store:
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":  # the launcher serves it, for each start anew
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        return PrefixStore(f"/worker/attempt_{attempt}", TCPStore(host, port, world_size, False, timeout))
    return TCPStore(host, port, world_size, rank == 0, timeout, multi_tenant=True)


_handlers.update(file=_file, tcp=_tcp, env=_env)
