"""Metadata that new nodes take over: from the nodes that an interpreter runs, and from ``annotate``."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..arrays.context import ContextVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .node import Node

__all__ = ["annotate", "annotate_fn", "format_stack", "get_current_meta", "has_preserved_node_meta",
    "preserve_node_meta", "set_current_meta", "set_stack_trace"]

_meta: ContextVar[dict[str, Any]] = ContextVar("wengert_fx_meta", default={})
_preserved: ContextVar[bool] = ContextVar("wengert_fx_preserved", default=False)
# What a node that is made takes over of that metadata.
COPIED = ("nn_module_stack", "torch_fn", "source_fn_stack", "original_aten", "recompute", "ac_graph_id",
    "has_backward_hook", "from_node", "quantization_tag", "_numeric_debug_handle", "custom", "partitioner_tag")


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Inside, nodes that are made take over the current metadata."""
    before, known = _preserved.get(), _meta.get()
    _preserved.set(enable)
    _meta.set(dict(known))
    try:
        yield
    finally:
        _preserved.set(before)
        _meta.set(known)


def has_preserved_node_meta() -> bool:
    """Whether ``preserve_node_meta`` is in force."""
    return _preserved.get()


def get_current_meta() -> dict[str, Any]:
    """The metadata that nodes take over."""
    return _meta.get()


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """While ``preserve_node_meta`` is in force, take the metadata of ``node``."""
    if not _preserved.get() or not node.meta:
        yield
        return
    known = _meta.get()
    _meta.set(dict(node.meta))
    try:
        yield
    finally:
        _meta.set(known)


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Inside, the metadata ``custom`` of new nodes has these entries.

    >>> from wengert.fx.traceback import annotate, get_current_meta, preserve_node_meta
    >>> with preserve_node_meta(), annotate({"stage": 1}):
    ...     get_current_meta()["custom"]
    {'stage': 1}
    """
    known = _meta.get()
    _meta.set(known | {"custom": known.get("custom", {}) | annotation_dict})
    try:
        yield
    finally:
        _meta.set(known)


def annotate_fn(annotation_dict: dict[str, Any]) -> Any:
    """A decorator: ``annotate`` while the function runs."""
    from functools import wraps

    def decorated(f: Any) -> Any:
        @wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return f(*args, **kwargs)

        return call

    return decorated


def set_stack_trace(stack: list[str]) -> None:
    """Set the stack trace that new nodes take over."""
    if _preserved.get() and stack:
        _meta.get()["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """The current stack trace, in lines."""
    import traceback

    if _preserved.get():
        return [_meta.get().get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


def take_over(node: Node, module_stack: Any) -> None:
    """Give a new node the metadata of its time."""
    if _preserved.get():
        known = _meta.get()
        if known.get("stack_trace"):
            node.stack_trace = known["stack_trace"]
        node.meta.update({k: copy.copy(known[k]) for k in COPIED if k in known})
    elif module_stack:
        node.meta["nn_module_stack"] = copy.copy(module_stack)
