"""What a user keeps on ``ctx`` under a name that the graph has a use for: ``ctx.shape = x.shape``, ``ctx.edges = ...``.

The context of a custom Function is its node. While ``forward`` runs the node is of a class with an attribute of two
faces for each such name: the user's inside of the user's functions, the graph's everywhere else. It stays of that class
only if the user has kept something there.
"""

from __future__ import annotations

import threading
from functools import wraps
from typing import Any

from ..graph.node import Node, next_sequence

_FIELDS = ("shape", "dtype", "edges", "hooks", "saved", "seq", "wanted")
_OTHERS = ("outputs", "raw", "recorded", "partial", "release", "apply_boxed", "wants_undefined", "written_by_user",
    "operation", "name", "visible_edges")
NAMES = frozenset((*_FIELDS, *_OTHERS))


class _Inside(threading.local):
    """The nodes whose user's functions this thread is in."""

    nodes: tuple[Any, ...] = ()
    forwards = 0  # how many ``forward`` or ``jvp`` are among them, where tangents are disabled


INSIDE = _Inside()


class _TwoFaced:
    def __init__(self, name: str, own: Any) -> None:
        self.name, self.own = name, own

    def __get__(self, node: Any, cls: Any = None) -> Any:
        if node is None:
            return self.own
        if any(n is node for n in INSIDE.nodes):
            if self.name in node.__dict__:
                return node.__dict__[self.name]
            if self.name in _FIELDS:
                raise AttributeError(f"'{type(node).__name__}' object has no attribute '{self.name}'", name=self.name,
                    obj=node)
        own = node.__dict__.get(f"own {self.name}", self.own)
        return own.__get__(node, type(node)) if hasattr(own, "__get__") else own

    def __set__(self, node: Any, value: Any) -> None:
        if any(n is node for n in INSIDE.nodes):
            node.__dict__[self.name] = value
        elif self.name in _FIELDS:
            self.own.__set__(node, value)
        else:
            node.__dict__[f"own {self.name}"] = value

    def __delete__(self, node: Any) -> None:
        if node.__dict__.pop(self.name, self) is self:
            raise AttributeError(self.name)


def _of_the_graph(method: Any) -> Any:
    """A method of nodes that sees the graph's face, also where the user calls it inside of ``forward``."""

    @wraps(method)
    def call(node: Any, *args: Any) -> Any:
        was = INSIDE.nodes
        INSIDE.nodes = tuple(n for n in was if n is not node)
        try:
            if not hasattr(node, "seq"):
                node.seq = next_sequence()  # until it is recorded
            return method(node, *args)
        finally:
            INSIDE.nodes = was

    return call


def _input_metadata(node: Any) -> Any:
    return Node._input_metadata.fget(node) if hasattr(node, "shape") else []  # type: ignore[attr-defined]


_METHODS = ("_register_hook_dict", "_sequence_nr", "register_hook", "register_prehook")


def two_faced(plain: Any) -> Any:
    """The class of a node during ``forward`` that is of the class ``plain`` else."""
    members: dict[str, Any] = {name: _TwoFaced(name, getattr(plain, name)) for name in NAMES}
    members.update((name, _of_the_graph(getattr(Node, name))) for name in _METHODS)
    members["next_functions"] = property(_of_the_graph(Node.next_functions.fget))  # type: ignore[attr-defined]
    members["_input_metadata"] = property(_of_the_graph(_input_metadata))
    plain.two_faced = type(plain.__name__, (plain,), {"__slots__": (), "__module__": plain.__module__, **members})
    return plain.two_faced


def enter(node: Any) -> tuple[Any, ...]:
    """The user's functions begin to run; what they leave again with is given back."""
    was = INSIDE.nodes
    INSIDE.nodes = (*was, node)
    return was


def saved(node: Any) -> Any:
    """What the graph keeps for a node, also if the user has something of that name."""
    return Node.saved.__get__(node)  # type: ignore[attr-defined]
