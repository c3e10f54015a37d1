"""Functions that are no operators (creation, random numbers, conversion) and members of Tensor, as modes see them.

They are plain functions, called directly. From the first mode, dispatching tensor or profiler on, each function has the
code of a watched form, which calls those first: every reference to the function is covered, and a program without them
pays nothing.
"""

from __future__ import annotations

import threading
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from ..arrays.random import generator
from ..functions import conversion, creation, random, ranges
from ..functions.overloads import METHODS
from ..graph.interceptors import Call, run_interceptors
from ..graph.modes import modes
from ..tensor import classes, record
from ..tensor.functions import put_code
from ..tensor.tensor import Tensor, members
from .factories import dispatched
from .torch_function import ask_mode, by_class, is_public

_lock = threading.Lock()
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
    """Make creation, random numbers and conversion call modes, classes and profilers, and backwards the first two."""
    from .below_autograd import gradients

    record.gradients_seen = gradients
    for f in _names():
        _watch(f, f)


@cache
def watch_members() -> None:
    """Make the methods and properties of Tensor call function modes and the classes of arguments."""
    for name, value in members().items():
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
        if f in _watched:
            return
        _watched.add(f)
        original, watched = (FunctionType(code, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
            for code in (f.__code__, _calling(f.__code__.co_freevars)))
        original.__kwdefaults__ = f.__kwdefaults__
        watched.__kwdefaults__ = {**(f.__kwdefaults__ or {}), "_watched": _form(original, public, _names().get(f))}
        # for code that reads its signature
        f.__wrapped__ = getattr(f, "__wrapped__", original)  # type: ignore[attr-defined]
        put_code(f, watched)


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
    """Code that calls the watched form, for a function with a closure over ``names``: it must bind them too, for code
    that looks at its frame.
    """
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
            answer = dispatched(name, call, args, kwargs, m)
            if answer is not NotImplemented:
                return answer
        kwargs.pop("pin_memory", None)
        if not m.watchers:
            return original(*args, **kwargs)
        done = Call("function", original, args, lambda call: original(*call.args, **call.kwargs), kwargs=kwargs)
        return run_interceptors(done, tuple(i for i in m.interceptors if i in m.watchers))

    return call
