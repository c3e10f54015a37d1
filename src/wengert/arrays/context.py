"""Context variables whose changes the cycle collector does not interrupt.

Up to Python 3.11 the collector may start within ``ContextVar.set`` and ``reset``, as they allocate. If a finalizer that
it runs sets a variable too (a suspended generator that ends in ``no_grad``), the outer change continues on a context
that was freed: its variables are lost, permanently. From Python 3.12 on the collector waits for the interpreter.
"""

from __future__ import annotations

import contextlib
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

    __slots__ = ("get", "reset", "set", "variable")

    variable: contextvars.ContextVar[T]
    get: Callable[..., T]
    set: Callable[[T], contextvars.Token[T]]
    reset: Callable[[contextvars.Token[T]], None]

    def __init__(self, name: str, *, default: T = _NONE) -> None:
        made: contextvars.ContextVar[T] = (
            contextvars.ContextVar(name) if default is _NONE else contextvars.ContextVar(name, default=default))
        self.variable, self.get = made, made.get
        self.set, self.reset = unbroken(made)


def scopes_in(variable: contextvars.ContextVar[Any]) -> Any:
    """The base class of context managers that set ``variable``, or a state of their own.

    In a subclass ``_states(now)`` gives the value inside, or ``(inside, back, result)`` where it does not go back to
    ``now``; ``_return(now, back)`` gives the value to go back to where it was changed inside; ``_left()`` is called at
    the end; with ``_put(state)``, which may be called again, the states are what it sets, not values of ``variable``.

    With the extension no signal comes in the middle of entering or leaving. Without it Ctrl-C may; the end of the block
    around it restores the state.
    """
    from . import kernels

    native: Any = getattr(kernels._native, "scopes_in", None)
    if native is not None:
        return native(variable)
    get, put = variable.get, unbroken(variable)[0]

    class Scope:
        _put: Callable[[Any], None] | None = None
        _left: Callable[[], None] | None = None

        def _return(self, now: Any, back: Any) -> Any:
            return back

        def __enter__(self) -> Any:
            now = get()
            states: Any = self._states(now)  # type: ignore[attr-defined]
            inside, back, result = states if type(states) is tuple else (states, now, None)
            entries = self.__dict__.setdefault("_entries", [])
            try:
                entries.append((inside, back))
                (self._put or put)(inside)
            except BaseException:
                entries[:] = (entry for entry in entries if entry[0] is not inside)
                with contextlib.suppress(Exception):
                    (self._put or put)(back)
                raise
            return result

        def __exit__(self, *exc: object) -> None:
            now, entries = get(), self.__dict__.get("_entries")
            entered = bool(entries)
            if entries:
                inside, back = entries.pop()
            else:  # of something that acts when it is made, or was left before its block ended
                states: Any = self._states(now)  # type: ignore[attr-defined]
                inside, back, _ = states if type(states) is tuple else (states, now, None)
            try:
                if self._put is None and not (entered and (now is inside or now is back)):
                    back = self._return(now, back)
                (self._put or put)(back)
            except BaseException:
                with contextlib.suppress(Exception):
                    (self._put or put)(back)
                raise
            finally:
                if self._left is not None:
                    self._left()

    return Scope
