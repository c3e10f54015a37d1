"""Futures whose callbacks run one after the other.

Collectives that callbacks begin must begin in the same order in all processes. So the callbacks of a communication hook
do not run whenever its data happen to be there: a follower waits for one bucket after the other, in a thread of its
own, and collectives that begin there have communicators of their own.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from wengert.futures import Future

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Here(threading.local):
    deferring = False
    follows = False


_here = _Here()


@contextmanager
def deferring() -> Iterator[None]:
    """Within it the futures of work that this thread begins are deferred."""
    before, _here.deferring = _here.deferring, True
    try:
        yield
    finally:
        _here.deferring = before


def defers() -> bool:
    """Whether this thread is within ``deferring``."""
    return _here.deferring


def follows() -> bool:
    """Whether this thread is a follower's."""
    return _here.follows


class Follower:
    """A thread that waits for futures, in the order in which they are given."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[Any, Future[Any]] | None] = SimpleQueue()
        threading.Thread(target=_follow, args=(self._queue,), name="communication hooks", daemon=True).start()

    def add(self, future: Any) -> Future[Any]:
        """Wait for ``future``; gives another, which is done when that is."""
        ended: Future[Any] = Future()
        self._queue.put((future, ended))
        return ended

    def end(self) -> None:
        """No further futures will come."""
        self._queue.put(None)


def _follow(queue: SimpleQueue[tuple[Any, Future[Any]] | None]) -> None:
    _here.deferring = _here.follows = True
    while (item := queue.get()) is not None:
        future, ended = item
        try:
            ended.set_result(future.wait())
        except BaseException as error:
            ended.set_exception(error)
        del item, future, ended


class DeferredFuture(Future[Any]):
    """A future that is completed by ``prepare``, which its ``wait`` calls.

    >>> from wengert.distributed.deferred import DeferredFuture
    >>> future = DeferredFuture(lambda: future.set_result(2))
    >>> future.then(lambda done: done.value() + 1).wait()
    3
    """

    def __init__(self, prepare: Callable[[], Any]) -> None:
        super().__init__()
        self._prepare: Callable[[], Any] | None = prepare

    def wait(self) -> Any:
        prepare, self._prepare = self._prepare, None
        if prepare is not None and not self.done():
            prepare()
        return super().wait()

    def _next(self) -> Future[Any]:
        def prepare() -> None:
            try:
                self.wait()
            except Exception:  # told to whom ``then`` has given the callback
                pass

        return DeferredFuture(prepare)
