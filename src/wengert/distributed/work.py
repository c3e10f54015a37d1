"""Work: an operation between processes that has begun. Whoever waits asks MPI again and again, which knows no deadline.

Work that a program holds (``async_op=True``) goes on while it computes: a thread asks MPI for it meanwhile.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .deferred import DeferredFuture, defers
from .errors import DistBackendError
from .stores import seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import timedelta

    from ..futures import Future
    from .mpi.world import Processes

_SPINS = 200  # times that MPI is asked before one sleeps; yielding alone leaves spinning ranks in each other's way
_LONGEST = 0.001  # seconds between two questions
_LIFE = 0.25  # seconds after which one looks whether the other processes still run


def _yield() -> None:
    if hasattr(os, "sched_yield"):
        os.sched_yield()
    else:
        time.sleep(0)


class Work:
    """An operation that has begun: ``wait()`` for it before its tensors are used."""

    def __init__(self, result: Sequence[Any] = (), source: int = -1) -> None:
        self._result, self._source = list(result), source
        self._error: BaseException | None = None
        self._done, self._lock = True, threading.RLock()
        self._future: Future[Any] | None = None

    def _advance(self) -> bool:
        """Whether it has ended, having asked once."""
        return self._done

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the result is there; an exception if the operation failed or took too long."""
        self._advance()
        if self._error is not None:
            raise self._error
        return True

    synchronize = wait

    def is_completed(self) -> bool:
        """Whether it has ended."""
        return self._advance()

    def is_success(self) -> bool:
        """Whether it has ended, and well."""
        return self._advance() and self._error is None

    def exception(self) -> BaseException | None:
        """Why it failed."""
        return self._error

    def result(self) -> list[Any]:
        """The tensors that it has written."""
        return self._result

    def source_rank(self) -> int:
        """The rank from which ``irecv`` has received."""
        return self._source

    _source_rank = source_rank

    def get_future(self) -> Future[Any]:
        """A future of the list of result tensors."""
        from ..futures import Future

        with self._lock:
            if defers():
                future: Future[Any] = DeferredFuture(lambda: self._wait_and_settle(future))
                return future
            if self._future is None:
                self._future = Future()
                if self._done:
                    self._settle(self._future)
                else:
                    PROGRESS.add(self)
            return self._future

    def _wait_and_settle(self, future: Future[Any]) -> None:
        with suppress(Exception):  # which the future tells
            self.wait()
        self._settle(future)

    def _settle(self, future: Future[Any]) -> None:
        if self._error is not None:
            future.set_exception(self._error)
        else:
            future.set_result(self._result)


class Pending(Work):
    """Work that MPI does: requests, and what is done with their results when all have ended.

    ``ranks`` are those of the world that take part; ``timeout`` in seconds counts from the beginning.
    """

    def __init__(self, world: Processes, name: str, requests: Sequence[Any], finish: Callable[[Any], None] | None,
            result: Sequence[Any], ranks: Sequence[int], timeout: timedelta):
        super().__init__(result)
        self._world, self._name, self._requests, self._finish = world, name, list(requests), finish
        self._ranks, self._begin, self._limit, self._done = ranks, time.monotonic(), seconds(timeout), False
        self._looked, self._statuses = self._begin, [world.MPI.Status() for _ in self._requests]

    def _advance(self) -> bool:
        if self._done:
            return True
        future = None
        with self._lock:
            if self._done:
                return True
            try:
                if not self._test():
                    return False
                if self._finish is not None:
                    self._finish(self._statuses)
            except Exception as error:
                self._error = error
            self._close()
            future = self._future
        if future is not None:
            self._settle(future)
        return True

    def _test(self) -> bool:
        if len(self._requests) == 1:
            return self._requests[0].Test(self._statuses[0])  # type: ignore[no-any-return]
        return self._world.MPI.Request.Testall(self._requests, self._statuses)  # type: ignore[no-any-return]

    def _close(self) -> None:
        self._done, self._requests, self._finish = True, [], None

    def _fail(self, error: BaseException) -> None:
        """Give up. MPI still has the buffers, so they are kept; it cannot be ended in an orderly way any more."""
        with self._lock:
            if self._done:
                return
            ABANDONED.append((self._requests, self._finish))
            self._error = error
            self._world.stick()
            self._close()
            future = self._future
        if future is not None:
            self._settle(future)

    def _look(self, now: float) -> None:
        """Give up if the time is over, or if a process that takes part has ended."""
        if now - self._begin > self._limit:
            waited = round((now - self._begin) * 1000)
            self._fail(DistBackendError(f"Timed out waiting {waited}ms for {self._name} to complete on rank "
                f"{self._world.rank}: not all of the ranks {list(self._ranks)} have called it"))
        elif now - self._looked > _LIFE:
            self._looked = now
            gone = [rank for rank in self._ranks if rank != self._world.rank and self._world.ended(rank)]
            if gone and not self._advance():
                pids = [self._world.peers[rank][1] for rank in gone]
                self._fail(DistBackendError(f"{self._name} on rank {self._world.rank} cannot complete: Connection "
                    f"closed by peer, the process of rank {', '.join(map(str, gone))} "
                    f"(pid {', '.join(map(str, pids))}) has ended"))

    def wait(self, timeout: timedelta | None = None) -> bool:
        end = None if timeout is None else time.monotonic() + seconds(timeout)
        turns, spins = 0, 1 if self._world.crowded else _SPINS
        while not self._advance():
            turns += 1
            if turns < spins:
                _yield()
                continue
            now = time.monotonic()
            self._look(now)
            if end is not None and now > end and not self._done:
                raise DistBackendError(f"Timed out waiting {round(seconds(timeout or 0) * 1000)}ms for {self._name} to "
                    f"complete on rank {self._world.rank}")
            time.sleep(min(_LONGEST, 4e-6 * (turns - spins)))
        if self._error is not None:
            raise self._error
        return True

    synchronize = wait

    def source_rank(self) -> int:
        return self._source

    def result(self) -> list[Any]:
        if not self._advance():
            self.wait()
        return self._result


ABANDONED: list[Any] = []  # requests that will never end, and their buffers


class Progress:
    """The thread that asks MPI for work which a program has begun and not waited for."""

    def __init__(self) -> None:
        self.work: deque[Work] = deque()
        self.there = threading.Condition()
        self.pid = 0

    def add(self, work: Work) -> None:
        """Let the thread look after ``work``."""
        if self.pid != os.getpid():
            self.pid, self.work, self.there = os.getpid(), deque(), threading.Condition()
            threading.Thread(target=self._run, name="MPI progress", daemon=True).start()
        with self.there:
            if work not in self.work:
                self.work.append(work)
            self.there.notify()

    def _run(self) -> None:
        pause = 0.0
        while True:
            with self.there:
                while not self.work:
                    self.there.wait()
                works = list(self.work)
            now, ended = time.monotonic(), []
            for work in works:
                if work._advance():
                    ended.append(work)
                elif isinstance(work, Pending):
                    work._look(now)
            if ended:
                pause = 0.0
                with self.there:
                    for work in ended:
                        self.work.remove(work)
            else:
                pause = min(_LONGEST, pause + 1e-5)
                time.sleep(pause)


PROGRESS = Progress()
