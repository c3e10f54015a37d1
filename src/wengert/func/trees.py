"""Nested dicts, lists and tuples as a flat list of leaves and a way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tensor.classes import PLAIN
from ..utils._pytree import TreeSpec, _broadcast_to_and_flatten, tree_structure, treespec_pprint
from ..utils._pytree_nodes import SUPPORTED_NODES, _get_node_type

if TYPE_CHECKING:
    from collections.abc import Callable


def children(tree: Any) -> list[Any] | None:
    """The parts of a container, None for a leaf. Which classes are containers is said by ``utils._pytree``."""
    kind = type(tree)
    if kind is tuple or kind is list:
        return list(tree)
    node = SUPPORTED_NODES.get(_get_node_type(tree) if isinstance(tree, tuple) else kind)
    return None if node is None else list(node.flatten_fn(tree)[0])


def rebuilt(tree: Any, parts: list[Any]) -> Any:
    """A container like ``tree`` with other parts."""
    kind = type(tree)
    if kind is tuple or kind is list:
        return kind(parts)
    node = SUPPORTED_NODES[_get_node_type(tree)]
    return node.unflatten_fn(parts, node.flatten_fn(tree)[1])


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves, in order; a container for which ``is_leaf`` is true is one.

    >>> leaves({"a": 1, "b": (2, [3])})
    [1, 2, 3]
    """
    parts = None if is_leaf is not None and is_leaf(tree) else children(tree)
    if parts is None:
        return [tree]
    found = []
    for part in parts:
        if type(part) in PLAIN:  # spares most calls
            found.append(part)
        else:
            found += leaves(part, is_leaf)
    return found


def mapped(f: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The same tree with ``f`` of each leaf.

    >>> mapped(lambda x: x * 10, {"a": 1, "b": (2, [3])})
    {'a': 10, 'b': (20, [30])}
    """
    parts = None if is_leaf is not None and is_leaf(tree) else children(tree)
    return f(tree) if parts is None else rebuilt(tree, [mapped(f, part, is_leaf) for part in parts])


def filled(tree: Any, values: list[Any], is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The same tree with ``values`` for its leaves, in order.

    >>> filled({"a": 1, "b": (2, [3])}, ["x", "y", "z"])
    {'a': 'x', 'b': ('y', ['z'])}
    """
    supply = iter(values)
    return mapped(lambda _: next(supply), tree, is_leaf)


def shape(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The structure alone, comparable with ``==``."""
    return tree_structure(tree, is_leaf)


def stars(tree: Any) -> str:
    """The structure as text; leaves show as ``*``: ``{'a': *, 'b': (*, [*])}``."""
    return treespec_pprint(tree_structure(tree))


def spread(prefix: Any, tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any] | None:
    """For each leaf of ``tree`` the value of ``prefix`` above it; None where their structures do not agree.

    >>> spread((0, None), ([1, 2], {"a": 3}))
    [0, 0, None]
    """
    if prefix is None or type(prefix) is int:
        return [prefix] * len(leaves(tree, is_leaf))
    return _broadcast_to_and_flatten(prefix, tree_structure(tree, is_leaf))
