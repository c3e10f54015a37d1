"""Who names the rank that was killed under ``mpiexec``, which ends the other ranks before one of them can.

A process beside the ranks of a node: it sees which of them ends first without having said that it leaves, and ends with
them. It runs this file as a program, without the package.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress

_HIGH = 256  # a process that ends closes its files from the highest number down, and launchers hear of it by a low one


def _address(first: int) -> str:
    return f"\0wengert-ranks-{first}"


def listen(size: int) -> socket.socket | None:
    """Wait for the connections of the ``size`` ranks of a node. One of them calls it; None where this cannot be."""
    if not hasattr(os, "pidfd_open"):
        return None
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(_address(os.getpid()))
        listening.listen(size)
    except OSError:
        listening.close()
        return None
    return listening


def connect(first: int, rank: int) -> socket.socket | None:
    """The connection by which the end of a rank is seen. ``first``: the process that called ``listen``."""
    if not hasattr(os, "pidfd_open"):
        return None
    import fcntl

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as low, suppress(OSError):
        low.connect(_address(first))
        low.sendall(f"{rank} ".encode())
        return socket.socket(fileno=fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _HIGH))
    return None


def leave(connection: socket.socket | None) -> None:
    """Say that a rank ends as it should, or tells itself why not."""
    if connection is not None:
        with suppress(OSError):
            connection.sendall(b".")


def start(listening: socket.socket, size: int, ranks: dict[int, int]) -> subprocess.Popen[bytes] | None:
    """Watch the processes ``ranks`` (rank -> process), all of which have called ``connect``."""
    # what is waited for is made here, so that the order in which they end is kept while the watcher is still starting
    with listening, select.epoll() as ended, ExitStack() as opened, suppress(OSError):
        listening.setblocking(False)
        arguments = []
        passed = [ended.fileno()]
        for _ in ranks:
            connection = opened.enter_context(listening.accept()[0])
            rank = int(connection.recv(16))
            handle = os.pidfd_open(ranks[rank])  # where its children keep the connection, when it is gone
            opened.callback(os.close, handle)
            for number in (connection.fileno(), handle):
                ended.register(number, select.EPOLLIN)
                passed.append(number)
            arguments.append(f"{rank}:{ranks[rank]}:{connection.fileno()}:{handle}")
        return subprocess.Popen([sys.executable, "-I", "-S", __file__, str(ended.fileno()), str(size), *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=passed, start_new_session=True)
    return None


def watch(ended: select.epoll, size: int, ranks: dict[int, tuple[int, socket.socket, int]]) -> None:
    """Until all ranks (rank -> process, connection and handle) have left, or one has ended otherwise: then name it."""
    rank_of = {number: rank for rank, (_, connection, handle) in ranks.items()
        for number in (connection.fileno(), handle)}
    while rank_of:
        rank = rank_of[ended.poll(maxevents=1)[0][0]]  # the first that has ended comes first
        pid, connection, handle = ranks[rank]
        if not _has_left(connection):
            print(f"wengert: rank {rank} of {size} (process {pid} on {socket.gethostname()}) was killed, "
                "or ended without a word", file=sys.stderr, flush=True)
            return
        for number in (connection.fileno(), handle):
            ended.unregister(number)
            del rank_of[number]


def _has_left(connection: socket.socket) -> bool:
    connection.setblocking(False)
    with suppress(OSError):
        return connection.recv(1) == b"."
    return False


if __name__ == "__main__":
    _ranks = {}
    for _entry in sys.argv[3:]:
        _rank, _pid, _connection, _handle = map(int, _entry.split(":"))
        _ranks[_rank] = _pid, socket.socket(fileno=_connection), _handle
    watch(select.epoll.fromfd(int(sys.argv[1])), int(sys.argv[2]), _ranks)
