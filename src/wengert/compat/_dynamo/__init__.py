# ruff: noqa: F401  programs import these names from here
"""``torch._dynamo``, as far as scripts reach into it: the switches of a compiler that has nothing to do here.

>>> torch._dynamo.config.suppress_errors = True
>>> torch._dynamo.reset()
"""

from __future__ import annotations

from typing import Any

from ...compiler import (
    OptimizedModule,
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
)
from ...names.absent import absent_from
from . import config, eval_frame, exc


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that compiles: see :func:`wengert.compile`, which leaves functions as they are."""
    from ...compiler import compile

    settings = {name: kwargs[name] for name in ("backend", "dynamic") if name in kwargs}
    if args:
        settings["backend"] = args[0]
    return compile(fullgraph=kwargs.get("nopython", False), disable=kwargs.get("disable", False), **settings)


def graph_break(msg: str = "") -> None:
    """Say that a compiler must stop here: nothing to do."""


def forbid_in_graph(fn: Any) -> Any:
    """``fn``, not to be taken by a compiler."""
    return fn


def mark_dynamic(t: Any, index: Any, **limits: Any) -> None:
    """Say that sizes of ``t`` change from call to call: nothing to do."""


maybe_mark_dynamic = mark_static = mark_dynamic


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Say that ``t`` stays at its place in memory: nothing to do."""

__getattr__ = absent_from(__name__)
