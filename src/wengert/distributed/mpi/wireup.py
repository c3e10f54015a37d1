"""How processes that nobody's ``mpiexec`` has started become one MPI world: MPICH asks for its peers by PMI, the
protocol of process managers, over a socket that it inherits. Here a thread of the process itself answers, and keeps
what is put, and who has come to a barrier, in a store. Only addresses of endpoints pass through it.
"""

from __future__ import annotations

import os
import socket
import threading
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

    from ..stores import Store

# What MPI reads in the environment while it starts, and what children must not inherit.
VARIABLES = ("PMI_FD", "PMI_RANK", "PMI_SIZE", "PMI_PORT", "PMI_ID", "PMI_SPAWNED")


class Manager:
    """Answers MPI in this process, rank ``rank`` of ``size``, from the entries of ``store``."""

    def __init__(self, rank: int, size: int, store: Store, timeout: timedelta):
        self.rank, self.size, self.store, self.timeout = rank, size, store, timeout
        self.failed: Exception | None = None
        self.barriers, self.leaving = 0, False
        if rank == 0:
            store.set("name", f"wengert-{uuid.uuid4().hex}")  # by which shared memory is named: no other job's
        self.name = ""
        self.end, self.mpi_end = socket.socketpair()
        threading.Thread(target=self._serve, name="MPI start", daemon=True).start()

    def environment(self) -> dict[str, str]:
        """What tells MPI that it is a part of a world, and where to ask."""
        return {"PMI_FD": str(self.mpi_end.fileno()), "PMI_RANK": str(self.rank), "PMI_SIZE": str(self.size)}

    def _serve(self) -> None:
        with suppress(OSError), self.end.makefile("rb") as lines:
            for line in lines:
                text = line.decode().rstrip("\n")
                try:
                    answer = self._answer(text)
                except Exception as error:  # MPI is told, and the caller of MPI_Init finds the reason
                    self.failed, answer = error, "cmd=error rc=-1 msg=store"
                if answer is None:
                    return
                self.end.sendall(f"{answer}\n".encode())

    def _answer(self, text: str) -> str | None:
        fields = dict(part.split("=", 1) for part in text.split(" ") if "=" in part)
        command = fields.get("cmd", "")
        if command == "put":
            self.store.set(fields["key"], text.split(" value=", 1)[1])
            return "cmd=put_result rc=0 msg=success"
        if command == "get":
            return self._get(fields["key"])
        if command == "barrier_in":
            self.barrier()
            return "cmd=barrier_out rc=0"
        if command == "abort":
            return None
        return {
            "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            "get_maxes": "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=4096 rc=0",
            "get_appnum": "cmd=appnum appnum=0 rc=0",
            "get_my_kvsname": f"cmd=my_kvsname kvsname={self.name} rc=0",
            "get_universe_size": f"cmd=universe_size size={self.size} rc=0",
            "finalize": "cmd=finalize_ack rc=0",
        }.get(command, f"cmd={command}_result rc=-1 msg=unknown")

    def _get(self, key: str) -> str:
        # MPI only asks for what is there since the last barrier, or never will be
        if not self.store.check([key]):
            return "cmd=get_result rc=-1 msg=key_not_found value=unknown"
        return f"cmd=get_result rc=0 msg=success value={self.store.get(key).decode()}"

    def barrier(self, timeout: timedelta | None = None) -> None:
        """Wait until every process has come here. At the end of the program MPI asks for it once more, and may go."""
        if self.leaving:
            return
        self.barriers += 1
        name = f"barrier/{self.barriers}"
        self.store.set(f"{name}/{self.rank}", str(os.getpid()))
        self.store.wait([f"{name}/{rank}" for rank in range(self.size)], timeout or self.timeout)
        self.name = self.name or self.store.get("name").decode()

    def close(self) -> None:
        """Answer MPI's last question, which it asks when Python has ended and no thread of it is left."""
        self.end.sendall(b"cmd=finalize_ack rc=0\n")
        os.dup(self.end.fileno())  # which stays open until the process has ended
