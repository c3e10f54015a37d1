"""``multiprocessing``: Python's own module, and ``spawn``, which starts a function in several processes.

Tensors that have been through ``share_memory_()`` (``Module.share_memory()`` for a whole model) are seen by all
processes that they are given to: what one writes in place, the others read. Other tensors travel by value.
"""

from __future__ import annotations

import multiprocessing as _python
import sys
from contextlib import suppress
from multiprocessing import *  # noqa: F403  this module is that one, and more
from multiprocessing.connection import wait
from signal import Signals
from traceback import format_exc
from typing import TYPE_CHECKING, Any

from .functions import shared_memory as _shared  # noqa: F401  it teaches pickles for other processes about tensors
from .names.missing import missing_from

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    *_python.__all__,  # type: ignore[attr-defined]
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
    "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes",
]

_strategy = "file_descriptor"


class ProcessException(Exception):  # noqa: N818  PyTorch's name
    """A process that ``spawn`` started has failed."""

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid


class ProcessRaisedException(ProcessException):
    """... by an exception, whose traceback is in the message."""


class ProcessExitedException(ProcessException):
    """... by a signal or an exit code."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


class ProcessContext:
    """The processes of one ``spawn``."""

    def __init__(self, processes: Sequence[Any], errors: Sequence[Any]):
        self.processes, self._errors = list(processes), list(errors)

    def pids(self) -> list[int]:
        """The processes' numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one more process has ended; call it until it returns ``True``: all have.

        ``timeout``: seconds to wait at most; ``grace_period``: seconds that the others get to end by themselves once
        one has failed. Then they are ended, and ``ProcessRaisedException`` or ``ProcessExitedException`` is raised.
        """
        running = {process.sentinel: i for i, process in enumerate(self.processes) if process.is_alive()}
        if running and self._failed() is None:
            wait(list(running), timeout)
        failed = self._failed()
        if failed is None:
            return not any(process.is_alive() for process in self.processes)
        for process in self.processes:
            process.join(grace_period or 0)
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join()
        raise self._error(failed)

    def _failed(self) -> int | None:
        return next((i for i, process in enumerate(self.processes) if process.exitcode), None)

    def _error(self, index: int) -> ProcessException:
        process, errors = self.processes[index], self._errors[index]
        if errors.poll():
            with suppress(EOFError):
                text = f"\n\n-- Process {index} terminated with the following error:\n{errors.recv()}"
                return ProcessRaisedException(text, index, process.pid)
        code = process.exitcode
        if code < 0:
            name = Signals(-code).name
            return ProcessExitedException(f"process {index} terminated with signal {name}", index, process.pid, code,
                name)
        return ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)


SpawnContext = ProcessContext


def _call(function: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass  # the parent reports it
    except Exception:
        errors.send(format_exc())
        sys.exit(1)


def start_processes(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True,
        daemon: bool = False, start_method: str = "spawn") -> ProcessContext | None:
    """Call ``fn(i, *args)`` in ``nprocs`` processes, with ``i`` from 0 to ``nprocs - 1``.

    ``fn`` stands at the top level of a module, unless ``start_method`` is ``"fork"`` (others: ``"spawn"``,
    ``"forkserver"``). ``join``: wait until all have ended, and return nothing; ``ProcessException`` is raised when one
    fails, and the others are ended. ``daemon``: end the processes when this one ends.
    """
    context = _python.get_context(start_method)
    processes, pipes = [], []
    for i in range(nprocs):
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_call, args=(fn, i, args, there), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        there.close()
        processes.append(process)
        pipes.append(here)
    started = ProcessContext(processes, pipes)
    if not join:
        return started
    while not started.join():
        pass
    return None


spawn = start_processes


def get_all_sharing_strategies() -> set[str]:
    """PyTorch's names of the ways in which shared tensors pass to other processes."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """The last :func:`set_sharing_strategy`, ``"file_descriptor"`` at first: how shared tensors always pass."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Accept one of PyTorch's strategies, ``AssertionError`` for others; shared tensors pass as open files anyway."""
    global _strategy
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of "
            f"{get_all_sharing_strategies()}")
    _strategy = new_strategy


def __getattr__(name: str) -> Any:
    return getattr(_python, name) if hasattr(_python, name) else missing_from(__name__)(name)
