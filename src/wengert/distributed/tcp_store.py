"""TCPStore: a table behind a socket. One process serves it, all ask; its connections carry entries, never tensors."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .errors import DistNetworkError, DistStoreError
from .stores import Store, Table, as_bytes, default_timeout, pack, seconds, unpack

if TYPE_CHECKING:
    from datetime import timedelta

__all__ = ["TCPStore"]

_LIMIT = 1 << 30  # bytes of one message: a wrong peer's first bytes are not taken for a size


def _send(connection: socket.socket, parts: list[bytes]) -> None:
    data = pack(parts)
    connection.sendall(struct.pack("!Q", len(data)) + data)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = connection.recv(min(count - len(data), 1 << 20))
        if not piece:
            raise ConnectionError("the connection was closed")
        data += piece
    return bytes(data)


def _receive(connection: socket.socket) -> list[bytes]:
    size = struct.unpack("!Q", _exactly(connection, 8))[0]
    if size > _LIMIT:
        raise ConnectionError("this is not a connection of a store")
    return unpack(_exactly(connection, size))


class Server:
    """Answers the commands of all connections, each in a thread."""

    def __init__(self, host: str, port: int, listen_fd: int | None = None):
        self.table, self.clients, self.closed = Table(), 0, False
        if listen_fd is not None:
            self.socket = socket.socket(fileno=listen_fd)
        else:
            family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
            self.socket = socket.create_server(("", port), family=family, backlog=512,
                dualstack_ipv6=family == socket.AF_INET6)
        self.port: int = self.socket.getsockname()[1]
        self.pid = os.getpid()
        threading.Thread(target=self._accept, name="TCPStore", daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection = self.socket.accept()[0]
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), name="TCPStore client", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, ValueError, struct.error, IndexError), connection:
            while True:
                name, limit, *args = _receive(connection)
                if name == b"hello":
                    self.clients += 1
                    _send(connection, [b"ok"])
                    continue
                if name == b"clients":
                    _send(connection, [b"ok", b"%d" % self.clients])
                    continue
                try:
                    answer = self.table.wait(name.decode(), args, float(limit))
                except (AttributeError, TypeError, ValueError) as error:
                    _send(connection, [b"error", str(error).encode()])
                    continue
                _send(connection, [b"late"] if answer is None else [b"ok", *answer])

    def close(self) -> None:
        """Take no more connections."""
        if self.pid == os.getpid():
            self.socket.close()


_servers: dict[int, Server] = {}  # of this process, by port


class TCPStore(Store):
    """A store that the process with ``is_master`` serves at ``host_name`` and ``port``, and that the others connect to.

    ``world_size``: with ``wait_for_workers``, the master waits until so many have come, itself included. ``port=0``
    takes a free port, see :attr:`port`. ``multi_tenant``: several stores of this process share a server.
    """

    def __init__(self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
            timeout: timedelta = default_timeout, wait_for_workers: bool = True, multi_tenant: bool = False,
            master_listen_fd: int | None = None, use_libuv: bool = True, _quiet: bool = False):
        super().__init__()
        self._timeout, self.host, self._lock = timeout, host_name, threading.Lock()
        self._server: Server | None = None
        if is_master:
            port = self._serve(int(port), multi_tenant, master_listen_fd)
        self.port = int(port)
        self._connection, self._pid = self._connect(), os.getpid()
        if not _quiet:
            self._tell(b"hello")
            if wait_for_workers and world_size is not None:
                self.add("init/", 1)  # PyTorch's workers count themselves so, and num_keys says one more
        if is_master and wait_for_workers and world_size is not None and world_size > 0:
            self._await_clients(world_size)

    @property
    def libuvBackend(self) -> bool:
        """Whether libuv serves the entries: no, threads of Python do."""
        return False

    @property
    def is_server(self) -> bool:
        """Whether this store serves the entries to the others."""
        return self._server is not None

    def _serve(self, port: int, multi_tenant: bool, listen_fd: int | None) -> int:
        server = _servers.get(port) if multi_tenant else None
        if server is None or server.pid != os.getpid():
            try:
                server = Server(self.host, port, listen_fd)
            except OSError as error:
                raise DistNetworkError(f"The server socket has failed to listen on any local network address. port: "
                    f"{port}, error: {error}") from error
            if multi_tenant:
                _servers[server.port] = server
        self._server = server
        return server.port

    def _connect(self) -> socket.socket:
        end, pause = time.monotonic() + seconds(self._timeout), 0.01
        while True:
            try:
                found = socket.create_connection((self.host, self.port), max(0.1, end - time.monotonic()))
            except OSError as error:
                if time.monotonic() + pause > end:
                    raise DistNetworkError(f"The client socket has timed out after {int(seconds(self._timeout) * 1000)}"
                        f"ms while trying to connect to ({self.host}, {self.port}): {error}") from error
                time.sleep(pause)
                pause = min(2 * pause, 0.2)
            else:
                if found.getsockname() == found.getpeername():  # a port may be connected to itself before it is served
                    found.close()
                    continue
                found.settimeout(None)
                found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return found

    def _await_clients(self, count: int) -> None:
        end = time.monotonic() + seconds(self._timeout)
        while (come := int(self._tell(b"clients")[0])) < count:
            if time.monotonic() > end:
                raise DistStoreError(f"Timed out after {int(seconds(self._timeout))} seconds waiting for clients. "
                    f"{come}/{count} clients joined.")
            time.sleep(0.005)

    def _tell(self, name: bytes, *args: bytes, limit: float = 0.0) -> list[bytes]:
        with self._lock:
            if self._pid != os.getpid():  # after a fork, the parent's connection is the parent's
                self._connection, self._pid = self._connect(), os.getpid()
            try:
                _send(self._connection, [name, str(limit).encode(), *args])
                status, *answer = _receive(self._connection)
            except OSError as error:
                raise DistNetworkError(f"the store at {self.host}:{self.port} is gone: {error}. The process that "
                    "serves it, rank 0 or the launcher, has ended.") from error
        if status == b"error":
            raise DistStoreError(answer[0].decode())
        return _LATE if status == b"late" else answer

    def _ask(self, name: str, *args: Any, timeout: float | None = None) -> list[bytes] | None:
        answer = self._tell(name.encode(), *(as_bytes(a) for a in args), limit=timeout or 0.0)
        return None if answer is _LATE else answer

    def clone(self) -> TCPStore:
        return TCPStore(self.host, self.port, timeout=self._timeout, _quiet=True)

    def __repr__(self) -> str:
        return f"TCPStore({self.host}:{self.port})"

    def __del__(self) -> None:
        with suppress(Exception):
            if self._pid == os.getpid():
                self._connection.close()
                if self._server is not None and _servers.get(self.port) is not self._server:
                    self._server.close()


_LATE: list[bytes] = []
