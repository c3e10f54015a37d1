"""``spawn`` and ``start_processes``: one function in several processes, whose failures are raised here."""

from __future__ import annotations

import logging
import multiprocessing as _python
import os
import signal
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import wait
from traceback import format_exc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ENV_VAR_PARALLEL_START", "ProcessContext", "ProcessException", "ProcessExitedException",
    "ProcessRaisedException", "SpawnContext", "spawn", "start_processes"]

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"  # "1": a fork server starts all processes at once
log = logging.getLogger(__name__)


class ProcessException(Exception):  # noqa: N818  PyTorch's name
    """A process that ``spawn`` started has failed: number ``error_index``, whose id is ``error_pid``."""

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """... by an exception, whose traceback is in the message."""


class ProcessExitedException(ProcessException):
    """... by a signal or an exit code."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


class ProcessContext:
    """The processes of one ``spawn``."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]):
        self.processes, self.error_files = list(processes), list(error_files)
        self.sentinels = {process.sentinel: i for i, process in enumerate(self.processes)}

    def pids(self) -> list[int]:
        """The processes' numbers."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one more process has ended; call it until it returns ``True``: all have.

        ``timeout``: seconds to wait at most; ``grace_period``: seconds that the others get to end by themselves once
        one has failed. Then they are ended, and ``ProcessRaisedException`` or ``ProcessExitedException`` is raised.
        """
        failed = None
        for sentinel in wait(list(self.sentinels), timeout) if self.sentinels else ():
            index = self.sentinels.pop(sentinel)  # type: ignore[call-overload]
            process = self.processes[index]
            process.join()
            if process.exitcode != 0:
                failed = index
                break
        if failed is None:
            if not self.sentinels:
                self._forget_files()
            return not self.sentinels
        try:
            self._end_all(grace_period)
            raise self._error(failed)
        finally:
            self._forget_files()

    def _end_all(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._wait_for_all(grace_period)
        for process in self.processes:
            if process.is_alive():
                log.warning("Terminating process %s via signal SIGTERM", process.pid)
                process.terminate()
        self._wait_for_all(30 if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                log.warning("Unable to shutdown process %s via SIGTERM , forcefully exiting via SIGKILL", process.pid)
                process.kill()
            process.join()

    def _wait_for_all(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def _error(self, index: int) -> ProcessException:
        process = self.processes[index]
        with open(self.error_files[index], encoding="utf-8") as file:
            text = file.read()
        if text:
            message = f"\n\n-- Process {index} terminated with the following error:\n{text}"
            return ProcessRaisedException(message, index, process.pid)
        code = process.exitcode
        if code >= 0:
            return ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        return ProcessExitedException(f"process {index} terminated with signal {name}", index, process.pid, code, name)

    def _forget_files(self) -> None:
        for name in self.error_files:
            if os.path.exists(name):
                os.unlink(name)


class SpawnContext(ProcessContext):
    """The old name of :class:`ProcessContext`."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]):
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_files)


def _end_with_parent() -> None:
    """Have Linux interrupt this process when the one that started it is gone, even if that was killed."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGINT)  # PR_SET_PDEATHSIG


def _wrap(fn: Callable[..., Any], i: int, args: tuple[Any, ...], error_file: str) -> None:
    _end_with_parent()
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent reports it
    except Exception:
        with open(error_file, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(format_exc())
        sys.exit(1)


def start_processes(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True,
        daemon: bool = False, start_method: str = "spawn", numa_options: Any = None) -> ProcessContext | None:
    """Call ``fn(i, *args)`` in ``nprocs`` processes, with ``i`` from 0 to ``nprocs - 1``.

    ``fn`` stands at the top level of a module, unless ``start_method`` is ``"fork"`` (others: ``"spawn"``,
    ``"forkserver"``). ``join``: wait until all have ended, and return nothing; a ``ProcessException`` is raised when
    one fails, and the others are ended. Without it the :class:`ProcessContext` comes back, whose ``join`` waits.
    ``daemon``: end the processes when this one ends. ``numa_options`` says nothing here.
    """
    context = _python.get_context(start_method)
    error_files: list[str] = []
    processes: list[Any] = []
    for i in range(nprocs):
        file, name = tempfile.mkstemp(prefix="pytorch-errorfile-", suffix=".txt")
        os.close(file)
        error_files.append(name)
        process = context.Process(target=_wrap, args=(fn, i, args, name), daemon=daemon)  # type: ignore[attr-defined]
        processes.append(process)
    if start_method == "forkserver" and os.environ.get(ENV_VAR_PARALLEL_START, "0") == "1":
        with ThreadPoolExecutor(max_workers=nprocs) as starters:
            list(starters.map(lambda process: process.start(), processes))
    else:
        for process in processes:
            process.start()
    started = ProcessContext(processes, error_files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True,
        daemon: bool = False, start_method: str = "spawn") -> ProcessContext | None:
    """:func:`start_processes` in new interpreters: ``fn`` stands at the top level of a module that can be imported."""
    if start_method != "spawn":
        warnings.warn(f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different "
            "start_method use:\n\t\t torch.multiprocessing.start_processes(...)", FutureWarning, stacklevel=2)
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
