"""Interceptors: objects that handle a call of an operator before the operator runs.

For a call on plain tensors with no mode in force the tuple is empty. Everything that changes or observes calls is an
interceptor in one ordered tuple (``Modes.interceptors``), called from the outermost to the innermost: each may answer,
change it, or pass it on. Some are there while a mode is in force: profilers, autocast, function and dispatch modes,
forward differentiation. Some are there from the first tensor of their kind on: subclasses, batched tensors, the device
``meta``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .modes import PROFILERS, change, modes

if TYPE_CHECKING:
    from collections.abc import Callable


class Call:
    """A call, as interceptors get it.

    ``kind``: ``"operator"``, its ``"inplace"`` form, a ``"composite"`` (an operator that is made of others), a
    ``"function"`` that is no operator (creation, conversion), or the ``"apply"`` of a custom Function. ``op``: the
    operator's declaration, or the function. ``out``: where the results go, or None. ``public``: what the user called,
    where that is not the function of the operator's name. ``run(call)`` does it; an interceptor may put something else
    in its place, as it may change ``args``, or put its own ``forward(op, values)`` in place of the operator's.
    """

    __slots__ = ("args", "forward", "kind", "kwargs", "op", "out", "public", "run")

    def __init__(self, kind: str, op: Any, args: tuple[Any, ...], run: Callable[[Call], Any], out: Any = None,
            public: Any = None, kwargs: dict[str, Any] | None = None) -> None:
        self.kind, self.op, self.args, self.run, self.out, self.public = kind, op, args, run, out, public
        self.kwargs: dict[str, Any] = {} if kwargs is None else kwargs
        self.forward: Callable[[Any, dict[str, Any]], Any] | None = None

    @property
    def name(self) -> str:
        """The operator's name; of an in-place form with an underscore."""
        name: str = getattr(self.op, "name", None) or self.op.__name__
        return f"{name}_" if self.kind == "inplace" else name


class Interceptor:
    """Base class of interceptors. As a context manager, it is active in the current thread or task.

    >>> from wengert.graph.interceptors import Interceptor
    >>> class Counter(Interceptor):
    ...     count = 0
    ...
    ...     def intercept(self, call, call_next):
    ...         self.count += 1
    ...         return call_next(call)
    >>> x = torch.ones(2)
    >>> with Counter() as counter:
    ...     y = x * 2 + 1
    >>> counter.count
    2
    """

    order: float = PROFILERS
    in_whole = False  #: whether gradient formulas that are one kernel are one call for it
    by_class = False  #: whether an operator or composite of tensors of PyTorch's own classes never concerns it
    passes: dict[str, Any] | None = None  #: operators, on NumPy's arrays, that concern it at most by casts
    #: ``short(op, args, modes)``: the answer of an operator on arguments of known classes, or ``NotImplemented``. Asked
    #: before there is a ``Call``, where the interceptors further out are ``by_class``
    short: Callable[..., Any] | None = None

    def applies_to(self, call: Call) -> bool:
        """Whether ``intercept`` is to be called for ``call``."""
        return True

    def intercept(self, call: Call, call_next: Callable[[Call], Any]) -> Any:
        """The result of ``call``; ``call_next(call)`` passes it to the next interceptor, finally to the operator."""
        return call_next(call)

    def walk(self, walk: Callable[..., None], *args: Any) -> None:
        """Run a backward, ``walk(*args)``: see ``engine.run``."""
        walk(*args)

    def __enter__(self) -> Any:
        change(watchers=(*modes().watchers, self))
        return self

    def __exit__(self, *exc: object) -> None:
        change(watchers=tuple(w for w in modes().watchers if w is not self))


def run_interceptors(call: Call, interceptors: tuple[Interceptor, ...], at: int = 0) -> Any:
    """The result of ``call``, passed through the interceptors from index ``at`` on and then run."""
    for i in range(at, len(interceptors)):
        if interceptors[i].applies_to(call):
            return interceptors[i].intercept(call, partial(run_interceptors, interceptors=interceptors, at=i + 1))
    return call.run(call)
