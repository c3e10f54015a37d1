"""Context variables whose changes the cycle collector does not break into.

Up to Python 3.11 the collector may start within ``ContextVar.set`` and ``reset``, as they allocate. If a finalizer that it
runs sets a variable too (a suspended generator that ends in ``no_grad``, an object whose ``__del__`` computes), the outer
change goes on from a context that was freed meanwhile: the context loses count of its variables and does not find them
any more, for good. From Python 3.12 on the collector waits for the interpreter.
"""

from __future__ import annotations

import contextvars
import gc
import sys
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_NONE: Any = object()


def unbroken(variable: contextvars.ContextVar[Any]) -> tuple[Callable[[Any], Any], Callable[[Any], None]]:
    """``variable.set`` and ``variable.reset``, without a run of the cycle collector inside."""
    if sys.version_info >= (3, 12):
        return variable.set, variable.reset
    from . import kernels

    native: Any = getattr(kernels._native, "unbroken", None)
    if native is not None:
        return native(variable)  # type: ignore[no-any-return]

    def whole(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def changed(value: Any) -> Any:
            collecting = gc.isenabled()
            gc.disable()
            try:
                return change(value)
            finally:
                if collecting:
                    gc.enable()

        return changed

    return whole(variable.set), whole(variable.reset)


class ContextVar(Generic[T]):
    """``contextvars.ContextVar``, of this package: the same methods, and changes that are not broken into.

    >>> depth = ContextVar("depth", default=0)
    >>> token = depth.set(1)
    >>> depth.get()
    1
    >>> depth.reset(token)
    >>> depth.get()
    0
    """

    __slots__ = ("get", "reset", "set")

    get: Callable[..., T]
    set: Callable[[T], contextvars.Token[T]]
    reset: Callable[[contextvars.Token[T]], None]

    def __init__(self, name: str, *, default: T = _NONE) -> None:
        made: contextvars.ContextVar[T] = contextvars.ContextVar(name) if default is _NONE else contextvars.ContextVar(name, default=default)
        self.get = made.get
        self.set, self.reset = unbroken(made)
