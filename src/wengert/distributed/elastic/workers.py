"""The workers of one node: started together, watched, and ended together."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..mpi.world import shared_memory
from .multiprocessing.errors import ProcessFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GRACE = 5.0  # seconds between the request to end and the end
_POLL = 0.05
LOCAL_RANK = "${local_rank}"  # in an argument of the command: the local rank


@dataclass
class Streams:
    """Where the output of workers goes: bits 1 and 2 for stdout and stderr, of all or (a dict) of single ones.
    ``shown``: the local ranks whose output comes to the terminal, ``None`` for all.
    """

    folder: str | None = None
    redirects: int | dict[int, int] = 0
    tee: int | dict[int, int] = 0
    shown: set[int] | None = None

    def of(self, which: int | dict[int, int], local_rank: int) -> int:
        """The bits of a worker."""
        return which.get(local_rank, 0) if isinstance(which, dict) else which


class Workers:
    """``count`` processes that run ``command``; ``environment`` gives the variables of each by its local rank."""

    def __init__(self, command: Sequence[str], count: int, environment: Callable[[int], dict[str, str]],
            first_rank: int, streams: Streams, attempt: int = 0):
        self.folder = tempfile.mkdtemp(prefix="wengert-torchrun-")
        self.first_rank, self.streams, self.files = first_rank, streams, []  # type: ignore[var-annotated]
        self.pumps: list[threading.Thread] = []
        self.processes: list[subprocess.Popen[Any]] = []
        self.failed_first: int | None = None
        for local_rank in range(count):
            env = {**os.environ, **environment(local_rank), "TORCHELASTIC_ERROR_FILE": self._error_file(local_rank)}
            outs = self._outputs(local_rank, attempt)
            words = [word.replace(LOCAL_RANK, str(local_rank)) for word in command]
            process = subprocess.Popen(words, env=env, start_new_session=True, preexec_fn=_end_with_parent,
                **outs)
            self.processes.append(process)
            self._pump(process, local_rank, attempt)

    def _error_file(self, local_rank: int) -> str:
        return os.path.join(self.folder, f"error{local_rank}.json")

    def _outputs(self, local_rank: int, attempt: int) -> dict[str, Any]:
        outs: dict[str, Any] = {}
        hidden = self.streams.shown is not None and local_rank not in self.streams.shown
        for bit, name in ((1, "stdout"), (2, "stderr")):
            if hidden:
                outs[name] = self._log(local_rank, attempt, name)
            elif self.streams.of(self.streams.tee, local_rank) & bit:
                outs[name] = subprocess.PIPE
            elif self.streams.of(self.streams.redirects, local_rank) & bit:
                outs[name] = self._log(local_rank, attempt, name)
        return outs

    def _log(self, local_rank: int, attempt: int, name: str) -> Any:
        folder = os.path.join(self.streams.folder or self.folder, f"attempt_{attempt}", str(local_rank))
        os.makedirs(folder, exist_ok=True)
        file = open(os.path.join(folder, f"{name}.log"), "wb")  # noqa: SIM115  it stays open while the worker runs
        self.files.append(file)
        return file

    def _pump(self, process: subprocess.Popen[Any], local_rank: int, attempt: int) -> None:
        for name, target in (("stdout", sys.stdout), ("stderr", sys.stderr)):
            pipe = getattr(process, name)
            if pipe is not None:
                log = self._log(local_rank, attempt, name)
                pump = threading.Thread(target=_copy, args=(pipe, log, target, f"[default{local_rank}]:"), daemon=True)
                pump.start()
                self.pumps.append(pump)

    def wait(self, stop: Callable[[], bool]) -> str:
        """``"done"`` when all have ended well, ``"failed"`` when one has not, ``"stopped"`` when ``stop()`` is true."""
        while True:
            codes = [process.poll() for process in self.processes]
            bad = [i for i, code in enumerate(codes) if code not in (None, 0)]
            if bad:
                self.failed_first = bad[0]
                return "failed"
            if all(code == 0 for code in codes):
                return "done"
            if stop():
                return "stopped"
            time.sleep(_POLL)

    def end(self, sig: int = signal.SIGTERM) -> None:
        """End all that still run, and what they have started."""
        self.ended = [i for i, process in enumerate(self.processes) if process.poll() is None]
        memory = {path for i in self.ended for path in shared_memory(str(self.processes[i].pid))}
        self._signal(sig)
        end = time.monotonic() + GRACE
        while time.monotonic() < end and any(process.poll() is None for process in self.processes):
            time.sleep(_POLL)
        self._signal(signal.SIGKILL)
        for process in self.processes:
            process.wait()
        for path in memory:  # which they were still about to forget
            with suppress(OSError):
                os.unlink(path)
        for pump in self.pumps:
            pump.join(1)
        for file in self.files:
            file.close()

    def _signal(self, sig: int) -> None:
        for process in self.processes:  # a group may outlive its first process
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, sig)

    def failures(self) -> dict[int, ProcessFailure]:
        """How workers have failed, by rank; without those that were ended after another's failure."""
        found = {}
        for i, process in enumerate(self.processes):
            if process.returncode and (i not in self.ended or os.path.exists(self._error_file(i))):
                found[self.first_rank + i] = ProcessFailure(i, process.pid, process.returncode, self._error_file(i),
                    self.first_rank + i)
        return found

    def clean(self) -> None:
        """Remove the files of errors."""
        import shutil

        shutil.rmtree(self.folder, ignore_errors=True)


def _copy(pipe: Any, log: Any, target: Any, prefix: str) -> None:
    with suppress(ValueError, OSError):
        for line in pipe:
            log.write(line)
            target.write(prefix + line.decode(errors="replace"))
            target.flush()


def _end_with_parent() -> None:
    """Let Linux end this process when the launcher is killed."""
    with suppress(Exception):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
