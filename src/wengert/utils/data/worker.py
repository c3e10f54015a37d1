"""What runs in a loader's worker process, and what it sends back.

A worker has two pipes. Through one it receives tasks ``(epoch, task, index)`` and at last ``None``; through the other
it sends ``(epoch, task, result)``. Results go out from a thread of their own, so that a slow reader does not keep the
worker from preparing the next batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import wengert

from ...names.absent import absent_from
from .fetch import _DatasetKind

if TYPE_CHECKING:
    from collections.abc import Callable

_worker_info: WorkerInfo | None = None


@dataclass(frozen=True, eq=False)
class WorkerInfo:
    """Facts about the current worker, with its copy of the ``dataset``."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info() -> WorkerInfo | None:
    """In a loader's worker process, facts about the worker; elsewhere ``None``."""
    return _worker_info


class StreamEnded:
    """The result of a task for which an ``IterableDataset`` had nothing left."""


_IterableDatasetStopIteration = StreamEnded  # the name under which libraries look for it


class _Verbatim(str):
    """A ``KeyError`` shows its argument's ``repr``, which would put a whole traceback on one line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """The exception being handled, in a form that passes between processes: its type and its traceback as text."""

    def __init__(self, exc_info: Any = None, where: str = "in background"):
        import sys
        import traceback

        kind, value, trace = exc_info or sys.exc_info()
        self.exc_type = kind
        self.exc_msg = "".join(traceback.format_exception(kind, value, trace))
        self.where = where

    def reraise(self) -> None:
        """Raise an exception of the same type here, with the original traceback in its message."""
        kind: Any = self.exc_type
        message = f"Caught {kind.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if kind is KeyError:
            raise KeyError(_Verbatim(message))
        if getattr(kind, "message", None):
            raise kind(message=message)
        try:
            exception = kind(message)
        except Exception:  # a constructor with other arguments
            raise RuntimeError(message) from None
        raise exception


class Settings(NamedTuple):
    """The settings of a worker, sent once when it starts."""

    kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    base_seed: int
    init_fn: Callable[[int], None] | None
    num_workers: int


def seed_worker(base_seed: int, worker_id: int) -> int:
    """Seed Python's, NumPy's and our random numbers, each worker differently, as PyTorch does."""
    import random

    import numpy as np

    seed = base_seed + worker_id
    random.seed(seed)
    wengert.manual_seed(seed)
    wengert.set_num_threads(1)
    np.random.seed(_generate_state(base_seed, worker_id))
    return seed


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four numbers that seed NumPy's random numbers in a worker."""
    from numpy.random import SeedSequence

    return SeedSequence([worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]).generate_state(4).tolist()


def run(settings: Settings, worker_id: int, tasks: Any, results: Any, stop: Any) -> None:
    """Run tasks until the end message, or until the parent process is gone.

    ``tasks``, ``results``: ends of the pipes; ``stop``: an event, after which the remaining tasks are skipped.
    """
    from multiprocessing import parent_process
    from multiprocessing.connection import wait

    global _worker_info
    seed = seed_worker(settings.base_seed, worker_id)
    _worker_info = WorkerInfo(worker_id, settings.num_workers, seed, settings.dataset)
    send = _sender(results)
    serve = _Server(settings, worker_id)
    parent = parent_process()
    watched = [tasks] if parent is None else [tasks, parent.sentinel]
    try:
        while tasks in wait(watched):
            task = tasks.recv()
            if task is None:
                break
            if not stop.is_set():
                send(serve(*task))
    except (KeyboardInterrupt, EOFError):
        pass  # the parent reports the first, and the second means that it is gone


class _Server:
    """Answers tasks; starts the dataset anew whenever a task of another epoch arrives."""

    def __init__(self, settings: Settings, worker_id: int):
        self.settings = settings
        self.worker_id = worker_id
        self.where = f"in DataLoader worker process {worker_id}"
        self.epoch = -1
        self.fetcher: Any = None
        self.failure: ExceptionWrapper | None = None
        try:
            if settings.init_fn is not None:
                settings.init_fn(worker_id)
        except Exception:
            self.failure = ExceptionWrapper(where=self.where)

    def __call__(self, epoch: int, task: int, index: Any) -> Any:
        result = self.failure or self._fetch(epoch, index)
        try:
            return _pickled((epoch, task, result))
        except Exception:  # it cannot be pickled, nor can the type of an exception, say a class made inside a function
            if isinstance(result, ExceptionWrapper):
                result.exc_type = RuntimeError
            else:
                result = ExceptionWrapper(where=self.where)
            return _pickled((epoch, task, result))

    def _fetch(self, epoch: int, index: Any) -> Any:
        settings = self.settings
        try:
            if epoch != self.epoch:
                self.fetcher = _DatasetKind.create_fetcher(settings.kind, settings.dataset, settings.auto_collation,
                    settings.collate_fn, settings.drop_last)
                self.epoch = epoch
            return self.fetcher.fetch(index)
        except StopIteration:
            if settings.kind == _DatasetKind.Iterable:
                return StreamEnded()
            return ExceptionWrapper(where=self.where)
        except Exception:
            return ExceptionWrapper(where=self.where)


SMALL = 1 << 16  # bytes of memory that are sent as they are: handing over an open file takes longer


def _pickled(result: Any) -> Any:
    """The bytes to send: large tensors move to shared memory and pass as handles, small ones by value."""
    from io import BytesIO
    from multiprocessing.reduction import ForkingPickler

    from ...multiprocessing.reductions import reduce_small

    buffer = BytesIO()
    pickler: Any = ForkingPickler(buffer, 5)
    pickler.dispatch_table = {**pickler.dispatch_table, wengert.Tensor: lambda t: reduce_small(t, SMALL)}
    pickler.dump(result)
    return buffer.getbuffer()


def _sender(results: Any) -> Callable[[Any], None]:
    """Start the sending thread; what is put into the function it returns goes out in order."""
    from queue import SimpleQueue
    from threading import Thread

    waiting: SimpleQueue[Any] = SimpleQueue()

    def send_all() -> None:
        while True:
            try:
                results.send_bytes(waiting.get())
            except OSError:  # no reader is left
                return

    Thread(target=send_all, daemon=True).start()
    return waiting.put


__getattr__ = absent_from(__name__)
