"""Values that will be there: ``Future``, which other threads can complete and wait for."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """The result of work that may not be done yet.

    >>> future = torch.futures.Future()
    >>> later = future.then(lambda done: done.value() + 1)
    >>> future.set_result(1)
    >>> later.wait()
    2
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._done = threading.Condition()
        self._value: Any = None
        self._error: BaseException | None = None
        self._completed = False
        self._callbacks: list[Callable[[Future[T]], None]] = []

    def done(self) -> bool:
        """Whether there is a result or an exception."""
        return self._completed

    def wait(self) -> T:
        """Wait, and give the result or raise the exception."""
        with self._done:
            while not self._completed:
                self._done.wait()
        return self.value()

    def value(self) -> T:
        """The result that is there; the exception is raised. ``RuntimeError`` if it is too early."""
        if not self._completed:
            raise RuntimeError("the Future has not been completed: wait() for it")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[no-any-return]

    def set_result(self, result: T) -> None:
        """Complete with ``result``; the callbacks run in this thread."""
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Complete with an exception, which ``wait`` and ``value`` will raise."""
        if not isinstance(result, BaseException):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _complete(self, value: Any, error: BaseException | None) -> None:
        with self._done:
            if self._completed:
                raise RuntimeError("Attempting to mark a completed Future as complete again. Note that a Future can "
                    "only be marked completed once.")
            self._value, self._error, self._completed = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._done.notify_all()
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call ``callback(self)`` when there is a result, at once if there is."""
        with self._done:
            if not self._completed:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future of ``callback(self)``."""
        after: Future[Any] = Future()

        def run(future: Future[T]) -> None:
            try:
                value = callback(future)
            except Exception as error:
                failure = RuntimeError(f"Got the following error when running the callback: {type(error).__name__}: "
                    f"{error}")
                failure.__cause__ = error
                after.set_exception(failure)
            else:
                after.set_result(value)

        self.add_done_callback(run)
        return after


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list itself, when all of its futures are done."""
    every: Future[list[Future[Any]]] = Future()
    left = len(futures)
    lock = threading.Lock()
    if not futures:
        every.set_result(futures)

    def one(_: Any) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            every.set_result(futures)

    for future in futures:
        future.add_done_callback(one)
    return every


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all, in order; the first exception is raised."""
    return [future.wait() for future in collect_all(futures).wait()]
