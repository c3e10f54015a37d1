"""Values that will be there: ``Future``, which other threads can complete and wait for."""

from __future__ import annotations

import threading
import traceback
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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
        for device in devices or ():
            if "cpu" in str(device):
                raise ValueError(f"Expected devices to have indices, got {device}")
            raise RuntimeError(f"there are no {device} devices here")
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
        self._call_all(callbacks)

    def _call_all(self, callbacks: Sequence[Callable[[Future[T]], None]]) -> None:
        for callback in callbacks:
            self._call(callback)

    def _call(self, callback: Callable[[Future[T]], Any]) -> None:
        try:
            callback(self)
        except Exception:  # nobody waits for it, and the other callbacks have a right to be called
            traceback.print_exc()

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call ``callback(self)`` when there is a result or an exception, at once if there is.

        Callbacks run in the order of their registration, in the thread that completes the future. What one raises is
        printed, no more; :meth:`then` hands errors on.
        """
        if not callable(callback):
            raise TypeError(f"add_done_callback(): the callback must be callable, got {type(callback).__name__}")
        with self._done:
            if not self._completed:
                self._callbacks.append(callback)
                return
        self._call(callback)

    def _next(self) -> Future[Any]:
        """The future that ``then`` gives."""
        return Future()

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future of ``callback(self)``, which is called when this one is done, with a result or an exception.

        What the callback raises is the text of a ``RuntimeError`` of the new future.

        >>> future = torch.futures.Future()
        >>> double = future.then(lambda done: done.value() * 2)
        >>> future.set_result(torch.ones(2))
        >>> double.wait()
        tensor([2., 2.])
        """
        if not callable(callback):
            raise TypeError(f"then(): the callback must be callable, got {type(callback).__name__}")
        after = self._next()

        def run(future: Future[T]) -> None:
            try:
                value = callback(future)
            except BaseException as error:
                failure = RuntimeError(f"Got the following error when running the callback: {type(error).__name__}: "
                    f"{error}")
                failure.__cause__ = error
                after.set_exception(failure)
            else:
                after.set_result(value)

        self.add_done_callback(run)
        return after

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future")


def collect_all(futures: Iterable[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list of futures, done when all of them are; it has the exception of the first that has one.

    >>> one, two = torch.futures.Future(), torch.futures.Future()
    >>> every = torch.futures.collect_all([one, two])
    >>> one.set_result(1), two.set_result(2)
    (None, None)
    >>> [future.value() for future in every.wait()]
    [1, 2]
    """
    parts = list(futures)
    for part in parts:
        if not isinstance(part, Future):
            raise TypeError(f"collect_all(): there must be futures, got {type(part).__name__}")
    every: Future[list[Future[Any]]] = Future()
    left = len(parts)
    lock = threading.Lock()

    def complete() -> None:
        error = next((part._error for part in parts if part._error is not None), None)
        every._complete(None if error else parts, error)

    def one(_: Any) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            complete()

    for part in parts:
        part.add_done_callback(one)
    if not parts:
        complete()
    return every


def wait_all(futures: Iterable[Future[Any]]) -> list[Any]:
    """The results of all, in order; the first exception is raised, once all are done."""
    return [future.wait() for future in collect_all(futures).wait()]
