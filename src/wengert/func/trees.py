"""Nested dicts, lists and tuples as a flat list of leaves and a way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tensor.structseq import StructSeq
from ..tensor.structseq import rebuilt as like

if TYPE_CHECKING:
    from collections.abc import Callable


def children(tree: Any) -> list[Any] | None:
    """The parts of a container, None for a leaf."""
    if isinstance(tree, dict):
        return list(tree.values())
    return list(tree) if _is_row(tree) else None


def rebuilt(tree: Any, parts: list[Any]) -> Any:
    """A container like ``tree`` with other parts."""
    if isinstance(tree, dict):
        return type(tree)(zip(tree, parts))
    return like(tree, parts)


def _is_row(tree: Any) -> bool:
    return type(tree) in (list, tuple) or (isinstance(tree, tuple) and (hasattr(tree, "_fields") or isinstance(tree, StructSeq)))


def leaves(tree: Any) -> list[Any]:
    """The leaves, in order.

    >>> leaves({"a": 1, "b": (2, [3])})
    [1, 2, 3]
    """
    parts = children(tree)
    return [tree] if parts is None else [leaf for part in parts for leaf in leaves(part)]


def mapped(f: Callable[[Any], Any], tree: Any) -> Any:
    """The same tree with ``f`` of each leaf.

    >>> mapped(lambda x: x * 10, {"a": 1, "b": (2, [3])})
    {'a': 10, 'b': (20, [30])}
    """
    parts = children(tree)
    return f(tree) if parts is None else rebuilt(tree, [mapped(f, part) for part in parts])


def filled(tree: Any, values: list[Any]) -> Any:
    """The same tree with ``values`` for its leaves, in order.

    >>> filled({"a": 1, "b": (2, [3])}, ["x", "y", "z"])
    {'a': 'x', 'b': ('y', ['z'])}
    """
    supply = iter(values)
    return mapped(lambda _: next(supply), tree)


def shape(tree: Any) -> Any:
    """The structure alone, comparable with ``==``; leaves show as ``*``.

    >>> shape({"a": 1, "b": (2, [3])})
    {'a': *, 'b': (*, [*])}
    """
    return mapped(lambda _: _LEAF, tree)


class _Leaf:
    def __repr__(self) -> str:
        return "*"


_LEAF = _Leaf()


def spread(prefix: Any, tree: Any) -> list[Any] | None:
    """For each leaf of ``tree`` the value of ``prefix`` above it; None where their structures do not agree.

    >>> spread((0, None), ([1, 2], {"a": 3}))
    [0, 0, None]
    """
    parts, given = children(tree), children(prefix)
    if given is None:
        return [prefix] * len(leaves(tree))
    if parts is None or len(parts) != len(given) or type(tree) is not type(prefix) or (isinstance(tree, dict) and list(tree) != list(prefix)):
        return None
    row: list[Any] = []
    for p, t in zip(given, parts):
        below = spread(p, t)
        if below is None:
            return None
        row += below
    return row
