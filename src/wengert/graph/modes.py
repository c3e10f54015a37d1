"""Grad modes: what the present thread or async task records.

All modes live in one immutable record in one context variable, so the hot path pays for a single look-up and an
identity test: ``RECORD`` and ``SILENT`` are the two common states, all others take the general path.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ..arrays.context import ContextVar, scopes_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from .interceptors import Interceptor

    F = TypeVar("F", bound=Callable[..., Any])


# Order of interceptors. An outer one (smaller number) sees a call before inner ones change it.
FUNCTION_MODES, SCOPES, SUBCLASSES, PROFILERS, CASTS, KERNELS, MAPS, LEVELS, DEVICES, DISPATCH = range(0, 100, 10)

INSTALLED: list[Interceptor] = []  # active in all threads, from the first tensor of their kind on
# field of Modes -> interceptor that is active while the field is not empty
FIELD_INTERCEPTORS: dict[str, Interceptor] = {}


def install(interceptor: Interceptor) -> None:
    """Make ``interceptor`` active from now on, in all threads."""
    if interceptor not in INSTALLED:
        INSTALLED.append(interceptor)


def ordered(watchers: tuple[Any, ...], stacks: list[Interceptor]) -> tuple[Interceptor, ...]:
    """The interceptors, outermost first; of equal ``order``, the one entered last first."""
    return tuple(sorted(dict.fromkeys((*reversed(watchers), *stacks, *INSTALLED)), key=lambda i: i.order))


def shortcuts(interceptors: tuple[Interceptor, ...]) -> tuple[Any, ...]:
    """The ``short`` of the first interceptors: as far as nobody else asks about arguments of known classes."""
    row = []
    for i in interceptors:
        if i.short is not None:
            row.append(i.short)
        elif not i.by_class:
            break
    return tuple(row)


class Modes:
    """Grad modes, function modes and the like, as one immutable record: ``with_(name=value)`` gives a changed copy.

    ``grad``: operations are recorded. ``inference``: results are inference tensors, and nothing is recorded.
    ``below_autograd``: a handler runs an operator below autograd; nothing is recorded, whatever the grad mode.
    ``grad_suppressed``: grad mode is enabled, but ``inference`` or ``below_autograd`` prevents recording.
    ``saved_tensor_hooks``: the innermost ``(pack, unpack)`` pair, or None. ``saved_tensor_hooks_disabled``: the error
    message that refuses such hooks, or None. ``watchers``: the interceptors that were entered as contexts (see
    ``interceptors``). ``view_replay``: views whose base was written to are recorded by their steps, not as one
    ``as_strided``. ``mutation``: None, or an object whose ``before_write(tensor)`` is called before in-place writes.
    ``grad_scope``: None, or the ``GradScope`` of the innermost ``torch.func`` derivative whose function is running: new
    tensors refer to it in their version counter, because only they may be written to. ``quick``: nothing but
    ``grad_scope`` differs from the default state. ``passes``: operators for which only ``grad`` counts, once cast.

    Packages that extend the engine add fields of their own: see ``add_field``.
    """

    __slots__ = ("__dict__", "_interceptors", "below_autograd", "derived", "grad", "grad_scope", "grad_suppressed",
        "inference", "more", "mutation", "passes", "quick", "saved_tensor_hooks", "saved_tensor_hooks_disabled",
        "shortcuts", "view_replay", "watchers")

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # what ``add_field`` adds

    def __init__(self) -> None:
        self.grad, self.inference, self.grad_suppressed = True, False, False
        self.saved_tensor_hooks: tuple[Callable[..., Any], Callable[..., Any]] | None = None
        self.saved_tensor_hooks_disabled: str | None = None
        self.watchers: tuple[Interceptor, ...] = ()
        self.view_replay = self.below_autograd = self.quick = False
        none: Any = None
        self.mutation = self.passes = self.grad_scope = none
        self.derived: dict[Any, Modes] = {}  # cache of ``with_`` for changes that are only True, False or None
        self.more: dict[str, Any] = {}  # the fields of ``add_field`` that are not what they are by default
        self._interceptors: tuple[int, tuple[Interceptor, ...]] = (-1, ())
        self.shortcuts: tuple[Any, ...] = ()  # the ``short`` of interceptors, as of the last look at ``interceptors``

    def with_(self, **changes: Any) -> Modes:
        """The state that differs from this one in ``changes``."""
        simple = True
        for value in changes.values():
            if value is not None and value is not True and value is not False:
                simple = False
                break
        if not simple:
            return self._changed(changes)
        key = tuple(changes.items())
        found = self.derived.get(key)
        if found is None:
            found = self.derived.setdefault(key, self._changed(changes))
        return found

    @property
    def interceptors(self) -> tuple[Interceptor, ...]:
        """The active interceptors, outermost first."""
        known, found = self._interceptors
        if known != len(INSTALLED):
            found = ordered(self.watchers,
                [FIELD_INTERCEPTORS[name] for name, value in self.more.items() if value and name in FIELD_INTERCEPTORS])
            self._interceptors, self.shortcuts = (len(INSTALLED), found), shortcuts(found)
        return found

    @property
    def from_levels(self) -> tuple[Interceptor, ...]:
        """Those from the levels of forward mode inwards."""
        return tuple(i for i in self.interceptors if i.order >= LEVELS)

    def _changed(self, changes: dict[str, Any]) -> Modes:
        new = Modes.__new__(Modes)
        new.grad, new.inference, new.below_autograd = self.grad, self.inference, self.below_autograd
        new.grad_suppressed, new.grad_scope, new.watchers = self.grad_suppressed, self.grad_scope, self.watchers
        new.saved_tensor_hooks, new.view_replay = self.saved_tensor_hooks, self.view_replay
        new.saved_tensor_hooks_disabled, new.mutation = self.saved_tensor_hooks_disabled, self.mutation
        more = self.more
        for name, value in changes.items():
            if name not in _DEFAULTS:
                setattr(new, name, value)
            elif value != _DEFAULTS[name]:
                more = {**more, name: value}
            elif name in more:
                more = {key: kept for key, kept in more.items() if key != name}
        new.derived, new._interceptors, new.shortcuts, new.quick, new.more = {}, (-1, ()), (), False, more
        new.__dict__.update(more)
        if new.inference or new.below_autograd or self.grad_suppressed:
            wanted, may = changes.get("grad", self.grad_mode), not (new.inference or new.below_autograd)
            new.grad, new.grad_suppressed = wanted and may, wanted and not may
        further, hooked = new.saved_tensor_hooks_disabled or new.more, new.saved_tensor_hooks is not None
        alone = not (further or new.view_replay or new.mutation or new.below_autograd)
        plain, usual = alone and not (hooked or new.watchers), not (new.inference or new.grad_suppressed)
        new.quick, alone = plain and new.grad_scope is not None and usual, alone and new.grad_scope is None and usual
        alone = alone and len(new.watchers) + hooked == 1
        new.passes = (UNSAVING if hooked else new.watchers[0].passes) if alone else None
        if plain and new.grad_scope is None:  # interned, so that the hot path can test identity
            if new.inference:
                return new if new.grad_suppressed else INFERENCE
            return _PLAIN[new.grad]
        return new

    @property
    def grad_mode(self) -> bool:
        """Whether gradients are enabled, as the user sees it."""
        return self.grad or self.grad_suppressed


_DEFAULTS: dict[str, Any] = {}  # of the fields that ``add_field`` adds


def add_field(name: str, interceptor: Interceptor | None = None, default: Any = ()) -> None:
    """Add the field ``name`` to modes; while it is not empty, ``interceptor`` is active."""
    setattr(Modes, name, default)
    _DEFAULTS[name] = default
    if interceptor is not None:
        FIELD_INTERCEPTORS[name] = interceptor


UNSAVING: dict[str, Any] = {}  # operators that were called, whose nodes have nothing for saved-tensor hooks
RECORD, SILENT, INFERENCE = Modes(), Modes(), Modes()
SILENT.grad = INFERENCE.grad = False
INFERENCE.inference = True
_PLAIN = {True: RECORD, False: SILENT}

_modes: ContextVar[Modes] = ContextVar("wengert_modes", default=RECORD)
modes: Callable[[], Modes] = _modes.get
set_modes = _modes.set

# The maps (``vmap``) that are running, outermost first. Not a mode: what a map does hangs on its batched tensors, and
# the work on the tensors below them stays on the fast path. Only what has no such argument asks (random numbers,
# ``vmap``).
map_levels: ContextVar[tuple[Any, ...]] = ContextVar("wengert_map_levels", default=())

# The transformations of functions that are running: their number, and that of those (gradients) inside of which saved
# tensors cannot be hooked. Where the number is not 0, ``refuse(name)`` says that the user may not do this inside of
# them: see ``transforms.Running``.
transforms: ContextVar[Any] = ContextVar("wengert_transforms", default=(0, 0))


def change(**changes: Any) -> Modes:
    """Switch modes for this thread or task; gives the record that was in force."""
    before = modes()
    set_modes(before.with_(**changes))
    return before


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread or task, or would be if it were not for inference mode."""
    m = modes()
    return m.grad or m.grad_suppressed


def is_inference_mode_enabled() -> bool:
    """Whether this thread or task is in inference mode."""
    return modes().inference


_Scope: Any = scopes_in(_modes.variable)


class Scope(_Scope):  # type: ignore[misc]
    """A context manager that puts modes in force, or a state of its own: see ``arrays.context.scopes_in``."""

    def __getstate__(self) -> Any:
        return {name: value for name, value in self.__dict__.items() if name != "_entries"}


def _with_grad(m: Modes, grad: bool) -> Modes:
    if m is RECORD or m is SILENT:
        return RECORD if grad else SILENT
    return m.with_(grad=grad)


class _Mode(Scope):
    """A context manager that is also a decorator for functions, generator functions and coroutines."""

    def _states(self, now: Modes) -> Any:
        raise TypeError(f"{type(self).__name__} has no __enter__ and __exit__")

    def clone(self) -> _Mode:
        """A fresh manager with the same settings: one for each call of a decorated function."""
        return type(self)()

    def __call__(self, func: F) -> F:
        return decorate(self.clone, func)


def decorate(make: Callable[[], Any], func: F) -> F:
    """``func`` run inside ``make()``: each call, each resumption of a generator or coroutine, under its own manager."""
    import inspect

    if inspect.isclass(func):
        import warnings

        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
            "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
            "the `__init__` method and nothing else.",
            FutureWarning,
            stacklevel=3,
        )
        make_instance: Any = functools.wraps(func)(lambda *args, **kwargs: _inside(make, func, args, kwargs))
        return make_instance
    if inspect.isgeneratorfunction(func):

        @functools.wraps(func)
        def generator(*args: Any, **kwargs: Any) -> Any:
            return (yield from _Resumed(func(*args, **kwargs), make))

        return generator  # type: ignore[return-value]
    if inspect.iscoroutinefunction(func):

        @functools.wraps(func)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            return await _Awaited(func(*args, **kwargs), make)

        return coroutine  # type: ignore[return-value]

    @functools.wraps(func)
    def plain(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)

    return plain  # type: ignore[return-value]


def _inside(make: Callable[[], Any], func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    with make():
        return func(*args, **kwargs)


class _Resumed:
    """A generator (or coroutine) each of whose steps runs under the mode, and whose yields leave it."""

    def __init__(self, inner: Any, make: Callable[[], Any]) -> None:
        self.inner, self.make = inner, make

    def __iter__(self) -> _Resumed:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        with self.make():
            return self.inner.send(value)

    def throw(self, *exc: Any) -> Any:
        with self.make():
            return self.inner.throw(*exc)

    def close(self) -> None:
        with self.make():
            self.inner.close()


class _Awaited(_Resumed):
    def __await__(self) -> _Resumed:
        return self


class no_grad(_Mode):
    """Nothing is recorded inside: results do not require a gradient.

    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __new__(cls, orig_func: Any = None) -> Self:
        self = super().__new__(cls)
        return self if orig_func is None else self(orig_func)

    def _states(self, now: Modes) -> Modes:
        return SILENT if now is RECORD else now.with_(grad=False)

    def _return(self, now: Modes, back: Modes) -> Modes:
        return now.with_(grad=back.grad_mode)


class enable_grad(no_grad):
    """Operations are recorded inside, also within ``no_grad``."""

    def _states(self, now: Modes) -> Modes:
        return _with_grad(now, True)


class set_grad_enabled(_Mode):
    """Recording switched on or off: at once when called, and as a context or decorator."""

    def __init__(self, mode: bool) -> None:
        if type(mode) is not bool:
            raise TypeError("set_grad_enabled(): argument 'enabled' (position 1) must be bool, not "
                f"{type(mode).__name__}")
        self.prev = modes()
        self.mode = mode
        set_modes(_with_grad(self.prev, mode))

    def _states(self, now: Modes) -> tuple[Modes, Modes, None]:
        return _with_grad(now, self.mode), _with_grad(now, self.prev.grad_mode), None

    def _return(self, now: Modes, back: Modes) -> Modes:
        return now.with_(grad=self.prev.grad_mode)

    def clone(self) -> set_grad_enabled:
        """Another one, which sets the same at once."""
        return type(self)(self.mode)

    def __call__(self, func: F) -> F:
        set_modes(modes().with_(grad=self.prev.grad_mode))  # as a decorator it must not leave a trace outside
        return super().__call__(func)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class inference_mode(_Mode):
    """Like ``no_grad``; the tensors made inside can never be part of a graph: no version, no view tracking."""

    def __new__(cls, mode: Any = True) -> Self:
        self = super().__new__(cls)
        if isinstance(mode, bool):
            return self
        self.mode = True
        return self(mode)

    def __init__(self, mode: Any = True) -> None:
        self.mode = mode if isinstance(mode, bool) else True

    def _states(self, now: Modes) -> Modes:
        if self.mode and (now is RECORD or now is SILENT):
            return INFERENCE
        return now.with_(inference=self.mode, grad=not self.mode)

    def _return(self, now: Modes, back: Modes) -> Modes:
        return now.with_(inference=back.inference, grad=back.grad_mode)

    def clone(self) -> inference_mode:
        """Another one with the same setting."""
        return type(self)(self.mode)
