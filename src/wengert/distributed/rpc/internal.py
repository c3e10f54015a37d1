"""Errors that pass from one process to another, and the futures of calls."""

from __future__ import annotations

import pickle
import traceback
from typing import TYPE_CHECKING, Any

from ...futures import Future

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .options import WorkerInfo
    from .pool import Pool


class NoSuchMethod(AttributeError):  # noqa: N818  shown as what it is
    """The value of a reference has no method of a name."""


class RemoteException(Exception):  # noqa: N818  PyTorch's name
    """What a function has raised elsewhere: the text, and the type of the exception."""

    def __init__(self, msg: str, exception_type: type[BaseException]) -> None:
        super().__init__(msg)
        self.msg, self.exception_type = msg, exception_type

    @classmethod
    def of(cls, error: BaseException, worker: WorkerInfo) -> RemoteException:
        """``error``, raised in this process, for others."""
        if isinstance(error, RemoteException):
            return error
        if isinstance(error, NoSuchMethod):
            return cls(str(error), NoSuchMethod)
        text = f"On {worker}:\n{error!r}\n" + "".join(traceback.format_exception(error))
        return cls(text, type(error))

    def __reduce__(self) -> Any:
        try:
            pickle.dumps(self.exception_type)
        except Exception:  # a class that was made inside of a function
            return RemoteException, (self.msg, RuntimeError)
        return RemoteException, (self.msg, self.exception_type)

    def local(self, named: bool = False) -> BaseException:
        """The exception to raise here. ``named``: as calls of functions raise it, with the name of its type before the
        text, and if it is no ``ValueError`` or ``TypeError``, as a ``RuntimeError``.
        """
        try:
            error = self.exception_type(self.msg)
        except BaseException as failure:
            error = RuntimeError(f"Failed to create original exception type. Error msg was {failure!s} Original "
                f"exception on remote side was {self.msg}")
        if isinstance(error, NoSuchMethod):
            return AttributeError(self.msg)
        if not named:
            return error
        kind = next((kind for kind in (ValueError, TypeError) if isinstance(error, kind)), RuntimeError)
        raised = kind(f"{type(error).__name__}: {error!s}")
        raised.__cause__ = None if type(error) is kind else error
        return raised


class CallFuture(Future[Any]):
    """The result of a call. Its callbacks run in the threads that serve calls: the one that receives must not wait."""

    def __init__(self, pool: Pool) -> None:
        super().__init__()
        self._pool = pool

    def _call_all(self, callbacks: Sequence[Callable[[Future[Any]], None]]) -> None:
        if callbacks:
            self._pool.submit(super()._call_all, callbacks)
