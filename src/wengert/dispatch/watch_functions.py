"""Watching functions that are no operators: creation, random numbers, conversion.

They are plain functions, called directly. While there are watchers (a profiler; modes and tensors that dispatch, from
the first one on), the code of each function is replaced by code that calls them, so that every reference to the
function is covered and a program without watchers pays nothing.
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
from ..tensor import classes
from ..tensor.tensor import Tensor
from .factories import dispatched
from .torch_function import ask_mode, by_class

_lock = threading.Lock()
_watchers = 0
_forever = False
_before: list[tuple[FunctionType, Any, Any]] = []

_SILENT = frozenset(("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state"))
_CONVERSION = ("new", "contiguous", "type_as", "view_as", "reshape_as", "expand_as", "sum_to_size", "copy_", "fill_",
    "zero_")
_METHODS = ("detach", "detach_", "item", "resize_")


def _functions() -> dict[str, FunctionType]:
    """The functions to watch, by the name of their event."""
    rows: dict[str, Any] = {f.__name__: f for f in (*creation.FUNCTIONS, *ranges.FUNCTIONS)}
    for table in (creation.METHODS, random.FUNCTIONS, random.METHODS):
        rows.update(table)
    rows.update({name: conversion.METHODS[name] for name in _CONVERSION})
    rows["new_empty_strided"] = METHODS["new_empty_strided"]
    rows.update({name: getattr(Tensor, name) for name in _METHODS})
    found = {f"aten::{name}": f for name, f in rows.items() if name not in _SILENT and isinstance(f, FunctionType)}
    found["aten::empty "] = generator.empty  # type: ignore[assignment]  # the memory that random numbers are drawn into
    return found


_SEEN = """
def make():
    {bound}
    def _seen(*args, _watched, **kwargs):
        return _watched(*args, **kwargs)
        {used}
    return _seen
"""


@cache
def _seen(names: tuple[str, ...]) -> CodeType:
    """The replacing code, for a function with a closure over ``names``: it must bind them too, for code that looks at
    its frame.
    """
    scope: dict[str, Any] = {}
    text = _SEEN.format(bound="; ".join(f"{name} = None" for name in names) or "pass", used=", ".join(names))
    exec(compile(text, __file__, "exec"), scope)
    return scope["make"]().__code__


def _asking(event: str, original: Any, public: Any) -> Any:
    name = event.removeprefix("aten::")
    shown = not name.endswith(" ") and name != "from_numpy"
    # a method that was replaced for the modes calls the classes already
    by_itself = "_watched" in (original.__kwdefaults__ or {})

    def call(*args: Any, **kwargs: Any) -> Any:
        m = modes()
        if m.functions and shown:
            return ask_mode(public, args, kwargs, m)
        if shown and not by_itself and not m.no_subclass_overrides and args and isinstance(args[0], Tensor):
            found = by_class(public, args, kwargs)
            if found is not NotImplemented:
                return found
        if m.dispatch or classes.DISPATCHING:
            found = dispatched(name, call, args, kwargs, m)
            if found is not NotImplemented:
                return found
        kwargs.pop("pin_memory", None)
        if not m.watchers:
            return original(*args, **kwargs)
        done = Call("function", original, args, lambda call: original(*call.args, **call.kwargs), kwargs=kwargs)
        return run_interceptors(done, tuple(i for i in m.interceptors if i in m.watchers))

    return call


def watch_creation() -> None:
    """Add a watcher."""
    global _watchers
    with _lock:
        _watchers += 1
        if _watchers > 1:
            return
        watched: set[int] = set()
        for name, f in _functions().items():
            if id(f) in watched:
                continue
            watched.add(id(f))
            code, defaults = f.__code__, f.__kwdefaults__
            _before.append((f, code, defaults))
            original = FunctionType(code, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
            original.__kwdefaults__ = defaults
            # for code that reads its signature
            f.__wrapped__ = getattr(f, "__wrapped__", original)  # type: ignore[attr-defined]
            # the old code does not mind
            f.__kwdefaults__ = {**(defaults or {}), "_watched": _asking(name, original, f)}
            f.__code__ = _seen(code.co_freevars)


def watch_forever() -> None:
    """Modes are entered too often for the exchange to be undone each time."""
    global _forever
    if not _forever:
        _forever = True
        from . import backward_names  # noqa: F401  sees the rules of a backward
        watch_creation()


def unwatch_creation() -> None:
    """One watcher less."""
    global _watchers
    with _lock:
        _watchers -= 1
        if _watchers == 0:
            for f, code, defaults in _before:
                f.__code__ = code
                f.__kwdefaults__ = defaults
            _before.clear()
