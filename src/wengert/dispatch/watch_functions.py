"""Functions that are no operators (creation, random numbers, conversion) and members of Tensor, as modes see them.

They are plain functions, called directly. From the first mode, dispatching tensor or profiler on, each function has the
code of a watched form, which calls those first: every reference to the function is covered, and a program without them
pays nothing.
"""

from __future__ import annotations

from _thread import RLock  # what threading.RLock is, without importing threading
from functools import cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from ..arrays.random import generator
from ..functions import conversion, creation, random, ranges
from ..functions.overloads import METHODS
from ..functions.sizes import shape_of
from ..graph.interceptors import Call, run_interceptors
from ..graph.modes import RECORD, SILENT, modes
from ..tensor import classes
from ..tensor.functions import compile_stub, put_code
from ..tensor.tensor import Tensor
from ..tensor.types import CPU, Size
from .torch_dispatch import ask, aten, below, dispatching
from .torch_function import ask_mode, by_class, is_public, own_members

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.modes import Modes

_lock = RLock()
_watched: set[FunctionType] = set()

_SILENT = frozenset(("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state"))
_CONVERSION = ("new", "contiguous", "type_as", "view_as", "reshape_as", "expand_as", "sum_to_size", "copy_", "fill_",
    "zero_")
_METHODS = ("detach", "detach_", "item", "resize_")
_PROPERTIES = ("_version", "_base", "_grad", "_grad_fn", "_backward_hooks", "_post_accumulate_grad_hooks")


@cache
def _names() -> dict[FunctionType, str]:
    """The functions that dispatch modes and profilers see, with their names."""
    rows: dict[str, Any] = {f.__name__: f for f in (*creation.FUNCTIONS, *ranges.FUNCTIONS)}
    for table in (creation.METHODS, random.FUNCTIONS, random.METHODS):
        rows.update(table)
    rows.update({name: conversion.METHODS[name] for name in _CONVERSION})
    rows["new_empty_strided"] = METHODS["new_empty_strided"]
    rows.update({name: getattr(Tensor, name) for name in _METHODS})
    found = {f: name for name, f in reversed(rows.items()) if name not in _SILENT and isinstance(f, FunctionType)}
    found[generator.empty] = "empty "  # type: ignore[index]  # the memory that random numbers are drawn into
    return found


@cache
def watch_functions() -> None:
    """Make creation, random numbers and conversion call modes, classes and profilers."""
    for f in _names():
        _watch(f, f)


@cache
def watch_members() -> None:
    """Make the methods and properties of Tensor call function modes and the classes of arguments."""
    for name, value in own_members().items():
        if isinstance(value, property) and (not name.startswith("_") or name in _PROPERTIES):
            for part, public in ((value.fget, value.__get__), (value.fset, value.__set__), (value.fdel,
                    value.__delete__)):
                if type(part) is FunctionType:
                    _watch(part, public)
        elif (type(value) is FunctionType and is_public(name) and "_op" not in value.__globals__
                and value.__name__ != "call"):
            _watch(value, value)


def _watch(f: FunctionType, public: Any) -> None:
    """Give ``f`` the code of its watched form; modes are called with ``public``."""
    with _lock:
        if f not in _watched:
            surround(f, lambda original: _form(original, public, _names().get(f)))
            _watched.add(f)  # last: what Ctrl-C ends is done again


def surround(f: FunctionType, around: Callable[[FunctionType], Any]) -> Callable[[], None]:
    """Make every call of ``f`` one of ``around(original)``; gives a function that ends it.

    It does not end while others have surrounded ``f`` later; ``around`` must be able to step aside by itself.
    """
    with _lock:
        compile_stub(f)
        original, watched = (FunctionType(code, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
            for code in (f.__code__, _calling(f.__code__.co_freevars)))
        original.__kwdefaults__ = f.__kwdefaults__
        form = around(original)
        watched.__kwdefaults__ = {**(f.__kwdefaults__ or {}), "_watched": form}
        if not hasattr(f, "__wrapped__"):  # for code that reads its signature
            f.__wrapped__ = original  # type: ignore[attr-defined]
            original.surrounded = True  # type: ignore[attr-defined]
        put_code(f, watched)

    def end() -> None:
        if (f.__kwdefaults__ or {}).get("_watched") is form:
            put_code(f, original)
            if getattr(f, "__wrapped__", None) is original:
                del f.__wrapped__  # type: ignore[attr-defined]

    return end


_CALLING = """
def make():
    {bound}
    def _calling(*args, _watched, **kwargs):
        return _watched(*args, **kwargs)
        {used}
    return _calling
"""


@cache
def _calling(names: tuple[str, ...]) -> CodeType:
    """Code that calls the watched form; it must bind ``names``, the function's closure, for code that reads frames."""
    scope: dict[str, Any] = {}
    text = _CALLING.format(bound="; ".join(f"{name} = None" for name in names) or "pass", used=", ".join(names))
    exec(compile(text, __file__, "exec"), scope)
    return scope["make"]().__code__


def _form(original: FunctionType, public: Any, name: str | None) -> Any:
    """``original``, seen by function modes and classes, and under ``name``, unless that is None, by dispatch modes and
    profilers.
    """
    shown = name not in ("empty ", "from_numpy")

    def call(*args: Any, **kwargs: Any) -> Any:
        m = modes()
        if (m is RECORD or m is SILENT) and not classes.DISPATCHING and (not args or type(args[0]) in classes.KNOWN):
            kwargs.pop("pin_memory", None)
            return original(*args, **kwargs)  # nobody asks
        if shown:
            if m.functions:
                return ask_mode(public, args, kwargs, m)
            if (args and type(args[0]) not in classes.KNOWN and isinstance(args[0], Tensor)
                    and not m.no_subclass_overrides):
                answer = by_class(public, args, kwargs)
                if answer is not NotImplemented:
                    return answer
        if name is None:
            return original(*args, **kwargs)
        if m.dispatch or classes.DISPATCHING:
            answer = _dispatched(name, call, args, kwargs, m)
            if answer is not NotImplemented:
                return answer
        kwargs.pop("pin_memory", None)
        if not m.watchers:
            return original(*args, **kwargs)
        done = Call("function", original, args, lambda call: original(*call.args, **call.kwargs), kwargs=kwargs)
        return run_interceptors(done, tuple(i for i in m.interceptors if i in m.watchers))

    return call


# -- names of dispatch modes -------------------------------------------------------------------------------------------
#
# ``torch.ones(2, 3)`` reaches them as ``aten.ones.default([2, 3])``; what is made from data as
# ``aten.lift_fresh.default`` of the tensor that was made. That a result shall require a gradient is done here.


def _sized(overload: str) -> Any:
    return lambda args, kwargs: (overload, (_size(args, kwargs),), kwargs)


def _size(args: Any, kwargs: Any) -> list[int]:
    return list(shape_of(args) if args else shape_of((kwargs.pop("size"),)))


def _as_given(overload: str) -> Any:
    return lambda args, kwargs: (overload, args, kwargs)


def _counted(*overloads: str) -> Any:
    """By the number of positional arguments."""
    return lambda args, kwargs: (overloads[min(len(args), len(overloads)) - 1], args, kwargs)


def _new(args: Any, kwargs: Any) -> Any:
    return "default", (args[0], _size(args[1:], kwargs)), kwargs


def _new_strided(args: Any, kwargs: Any) -> Any:
    return "default", (args[0], list(args[1]), list(args[2]), *args[3:]), kwargs


def _random_integers(args: Any, kwargs: Any) -> Any:
    low = len(args) > 2 or "low" in kwargs
    return "low" if low else "default", args, kwargs


def _normal(args: Any, kwargs: Any) -> Any:
    mean, std = (isinstance(v, classes.Tensor_) for v in (*args, 1.0)[:2])
    return f"{'Tensor' if mean else 'float'}_{'Tensor' if std else 'float'}", args, kwargs


# the function -> the operator, and what gives the overload and the arguments
_NAMED: dict[str, tuple[str, Any]] = {
    **{n: (n, _sized("default")) for n in ("ones", "zeros", "rand", "randn")},
    **{n: (n, _new) for n in ("new_zeros", "new_ones", "new_empty")},
    **{n: (n, _as_given("default")) for n in ("full", "linspace", "logspace", "randperm", "empty_strided",
        "scalar_tensor", "tril_indices", "triu_indices", "zeros_like", "ones_like", "empty_like", "full_like",
        "rand_like", "randn_like", "randint_like", "new_full", "multinomial", "poisson", "binomial", "empty_permuted",
        "uniform_", "normal_", "exponential_", "cauchy_", "log_normal_", "geometric_", "bernoulli", "resize_")},
    "empty": ("empty", _sized("memory_format")), "arange": ("arange", _counted("default", "start", "start_step")),
    "eye": ("eye", _counted("default", "m")), "randint": ("randint", _random_integers), "normal": ("normal", _normal),
    "bernoulli_": ("bernoulli_", lambda args, kwargs: (
        "Tensor" if isinstance((*args, 0.5)[1], classes.Tensor_) else "float",
        args if len(args) > 1 or kwargs else (*args, 0.5), kwargs)),
    "new_empty_strided": ("new_empty_strided", _new_strided),
    "random_": ("random_", _counted("default", "to", "from")), "item": ("_local_scalar_dense", _as_given("default")),
}
_PLACED = frozenset(("ones", "zeros", "empty", "full", "rand", "randn", "randint", "randperm", "arange", "eye",
    "linspace", "logspace", "empty_strided", "normal", "scalar_tensor", "tril_indices", "triu_indices", "new_zeros",
    "new_ones", "new_empty", "new_full", "empty_permuted", "new_empty_strided"))
_LIFTED = frozenset(("tensor", "as_tensor", "from_numpy", "new_tensor"))


def _dispatched(name: str, call: Any, args: Any, kwargs: Any, m: Modes) -> Any:
    """The answer of modes and dispatching tensors to ``name(*args, **kwargs)``; NotImplemented if there are none."""
    if (not m.dispatch and not dispatching(args)) or kwargs.get("out") is not None:
        return NotImplemented
    kwargs = dict(kwargs)
    if name in _LIFTED:
        if not m.dispatch:
            return NotImplemented
        wanted = kwargs.pop("requires_grad", False)
        made = below(m, call, args, kwargs)
        if any(made is v for v in args):
            return made
        answer = ask(aten.lift_fresh.default, _same, False, (made,), {}, m)
        return answer._wg_require() if wanted else answer
    found = _NAMED.get(name)
    if found is None:
        return NotImplemented
    theirs, arrange = found
    wanted = kwargs.pop("requires_grad", False)
    overload, args, kwargs = arrange(args, kwargs)
    if name in _PLACED:
        kwargs = {"device": args[0].device if name.startswith("new_") else CPU, "pin_memory": False} | kwargs
        args = tuple(list(v) if type(v) is tuple or type(v) is Size else v for v in args)
    elif name.endswith("_like"):
        kwargs = {"pin_memory": False} | kwargs
    answer = ask(getattr(getattr(aten, theirs), overload), call, False, args, kwargs, m)
    if not (answer is None or name == "item" or isinstance(answer, classes.Tensor_)):
        raise RuntimeError(f"Unable to cast {answer!s} to Tensor: a __torch_dispatch__ gave a {type(answer).__name__}")
    return answer._wg_require() if wanted else answer


def _same(made: Any) -> Any:
    return made
