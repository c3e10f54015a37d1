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
from contextlib import suppress


def _address(first: int) -> str:
    return f"\0wengert-ranks-{first}"


def start(size: int, ranks: dict[int, int]) -> subprocess.Popen[bytes] | None:
    """Watch the processes ``ranks`` (rank -> process) of this node. One of them calls it; None where this cannot be."""
    if not hasattr(os, "pidfd_open"):
        return None
    given = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    with given, suppress(OSError):
        given.bind(_address(os.getpid()))
        command = [sys.executable, "-I", "-S", __file__, str(given.fileno()), str(size)]
        return subprocess.Popen([*command, *(f"{rank}:{pid}" for rank, pid in ranks.items())],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(given.fileno(),), start_new_session=True)
    return None


def leave(first: int, rank: int) -> None:
    """Say that a rank ends as it should, or tells itself why not. ``first``: the process that called ``start``."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told, suppress(OSError):
        told.sendto(str(rank).encode(), _address(first))


def watch(told: socket.socket, size: int, ranks: dict[int, int]) -> None:
    """Until all ranks have left, or one has ended otherwise: then say which."""
    told.setblocking(False)
    ended, left, waiting = select.epoll(), set[int](), dict[int, int]()
    gone = []
    for rank, pid in ranks.items():
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            gone.append(rank)
        else:
            ended.register(handle, select.EPOLLIN)
            waiting[handle] = rank
    while True:
        with suppress(BlockingIOError):
            while True:
                left.add(int(told.recv(16)))
        for rank in gone:
            if rank not in left:
                print(f"wengert: rank {rank} of {size} (process {ranks[rank]} on {socket.gethostname()}) was killed, "
                    "or ended without a word", file=sys.stderr, flush=True)
                return
        if not waiting:
            return
        # the first that has ended comes first
        handle = ended.poll(maxevents=1)[0][0]
        ended.unregister(handle)
        gone = [waiting.pop(handle)]


if __name__ == "__main__":
    watch(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]),
        dict(map(int, entry.split(":")) for entry in sys.argv[3:]))  # type: ignore[misc]
