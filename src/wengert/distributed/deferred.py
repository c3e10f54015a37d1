"""Futures whose callbacks run where somebody waits.

Collectives that callbacks begin must begin in the same order in all processes. So a communication hook is not called
back whenever its data happen to be there: the callbacks run one bucket after the other at the end of the backward.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wengert.futures import Future

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Here(threading.local):
    deferring = False


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
