"""Flattening nested arguments by the specification of others: the generated code of a graph calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..utils import _pytree as pytree

if TYPE_CHECKING:
    from collections.abc import Callable

    FlattenFuncSpec = Callable[[Any, pytree.TreeSpec], list[Any]]

# How containers are taken apart, and whether one has as many parts as it should.
SUPPORTED_NODES: dict[type[Any], FlattenFuncSpec] = {}
SUPPORTED_NODES_EXACT_MATCH: dict[type[Any], Callable[[Any, pytree.TreeSpec], bool] | None] = {}


def register_pytree_flatten_spec(cls: type[Any], flatten_fn_spec: FlattenFuncSpec,
        flatten_fn_exact_match_spec: Callable[[Any, pytree.TreeSpec], bool] | None = None) -> None:
    """Say how instances of ``cls`` are taken apart where a specification is known."""
    SUPPORTED_NODES[cls], SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_spec, flatten_fn_exact_match_spec


def tree_flatten_spec(tree: Any, spec: pytree.TreeSpec) -> list[Any]:
    """The leaves of ``tree``, which is nested at least as ``spec`` says.

    >>> from wengert.utils._pytree import tree_flatten
    >>> _, spec = tree_flatten({"a": 1, "b": [2, 3]})
    >>> torch.fx._pytree.tree_flatten_spec({"b": [4, 5, 6], "a": 7}, spec)
    [7, 4, 5]
    """
    if spec.is_leaf():
        return [tree]
    flatten = SUPPORTED_NODES.get(spec.type)
    if flatten is None:
        leaves, real = pytree.tree_flatten(tree)
        if spec != real:
            raise RuntimeError(f"Real spec {real} of object {tree} is different from expected spec {spec}.")
        return leaves
    rows = zip(flatten(tree, spec), spec.children())
    return [leaf for part, inner in rows for leaf in tree_flatten_spec(part, inner)]


def _row(tree: Any, spec: pytree.TreeSpec) -> list[Any]:
    return [tree[i] for i in range(spec.num_children)]


def _as_many(tree: Any, spec: pytree.TreeSpec) -> bool:
    return len(tree) == spec.num_children


register_pytree_flatten_spec(dict, lambda tree, spec: [tree[k] for k in spec.context], _as_many)
for _kind in (list, tuple):
    register_pytree_flatten_spec(_kind, _row, _as_many)
