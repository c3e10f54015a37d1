"""What a worker leaves about its error, and what the launcher says about workers that have failed."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]

_FILE = "TORCHELASTIC_ERROR_FILE"
_FOLLOWS = "Connection closed by peer"  # an error that another rank's has caused


def write_error(error: BaseException) -> None:
    """Write an error to the file that the launcher reads, if there is one and nothing is in it."""
    path = os.environ.get(_FILE)
    if not path or (os.path.exists(path) and os.path.getsize(path)):
        return
    text = "".join(traceback.format_exception(error))
    message = {"message": {"message": f"{type(error).__name__}: {error}",
        "extraInfo": {"py_callstack": text, "timestamp": str(int(time.time())), "time": time.time()}}}
    with suppress(OSError), open(path, "w", encoding="utf-8") as file:
        json.dump(message, file)


class ErrorHandler:
    """Writes the error of a worker where its launcher reads it."""

    def initialize(self) -> None:
        """Nothing needs to be prepared."""

    def record_exception(self, e: BaseException) -> None:
        """Write an exception."""
        write_error(e)


def get_error_handler() -> ErrorHandler:
    """The handler that ``record`` uses."""
    return ErrorHandler()


def record(fn: Callable[..., Any], error_handler: ErrorHandler | None = None) -> Callable[..., Any]:
    """A main function whose exception the launcher shows with the rank."""
    handler = error_handler or get_error_handler()

    @wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit:
            raise
        except ChildFailedError as error:
            handler.record_exception(error)
            raise
        except Exception as error:
            handler.record_exception(error)
            raise

    return wrapper


@dataclass
class ProcessFailure:
    """How a worker has ended: ``exitcode`` (negative: a signal), and what it has left in its error file."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    rank: int = -1
    message: str = field(init=False, default="")
    timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        self.time = time.time()
        self.timestamp = int(self.time)
        self.error_file_data: dict[str, Any] = {}
        with suppress(OSError, ValueError), open(self.error_file, encoding="utf-8") as file:
            self.error_file_data = json.load(file)
        said = self.error_file_data.get("message")
        if isinstance(said, dict):
            extra = said.get("extraInfo", {})
            self.message = extra.get("py_callstack") or said.get("message", "")
            with suppress(ValueError, TypeError):
                self.timestamp = int(extra.get("timestamp"))
                self.time = float(extra.get("time", self.timestamp))
        elif said:
            self.message = str(said)
        elif self.exitcode < 0:
            self.message = f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
        else:
            self.message = ("To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html")

    def signal_name(self) -> str:
        """The signal that has ended the process."""
        if self.exitcode >= 0:
            return "<N/A>"
        with suppress(ValueError):
            return signal.Signals(-self.exitcode).name
        return "<N/A>"

    def timestamp_isoformat(self) -> str:
        """When it failed."""
        return datetime.fromtimestamp(self.timestamp).isoformat(sep="_")

    def lines(self, number: int) -> str:
        """The paragraph about it."""
        name = f" ({self.signal_name()})" if self.exitcode < 0 else ""
        message = self.message.rstrip().replace("\n", "\n    ")
        return (f"[{number}]:\n  time      : {self.timestamp_isoformat()}\n  host      : {socket.getfqdn()}\n"
            f"  rank      : {self.rank} (local_rank: {self.local_rank})\n"
            f"  exitcode  : {self.exitcode} (pid: {self.pid}){name}\n"
            f"  error_file: {self.error_file if self.error_file_data else '<N/A>'}\n  traceback : {message}")


class ChildFailedError(Exception):
    """Workers have failed: ``failures`` by rank."""

    def __init__(self, name: str, failures: dict[int, ProcessFailure]):
        self.name, self.failures = name, failures
        if not failures:
            raise AssertionError("no failures")
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The rank that failed first, and how; not one that failed because another was gone."""
        rank = min(self.failures, key=lambda r: (_FOLLOWS in self.failures[r].message, self.failures[r].time))
        return rank, self.failures[rank]

    def format_msg(self) -> str:
        """What the terminal shows."""
        first = self.get_first_failure()[0]
        others = [failure.lines(i) for i, (rank, failure) in enumerate(self.failures.items()) if rank != first]
        root = self.failures[first].lines(list(self.failures).index(first))
        body = "\n".join(others) if others else "  <NO_OTHER_FAILURES>"
        title = f"{self.name} FAILED"
        width = max(60, len(title))
        return "\n".join(("", "=" * width, title, "-" * width, "Failures:", body, "-" * width,
            "Root Cause (first observed failure):", root, "=" * width))
