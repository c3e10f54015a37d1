"""Specifications of trees: what a tree is apart from its leaves."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any, NamedTuple

from ._pytree_nodes import STANDARD_DICT_TYPES, SUPPORTED_NODES, Context, _get_node_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PyTree = Any


class _Written(NamedTuple):
    """How specifications of one type are written down."""

    name: str | None
    to_dumpable: Callable[[Context], Any] | None
    from_dumpable: Callable[[Any], Context] | None


_WRITTEN: dict[Any, _Written] = {}
_NAMED: dict[type, str] = {}  # classes of named tuples


class TreeSpec:
    """What a tree is apart from its leaves."""

    def __init__(self, type: Any, context: Context, children_specs: list[TreeSpec]) -> None:
        self.type, self.context, self._children = type, context, children_specs
        self.num_nodes: int = 1 + sum(c.num_nodes for c in children_specs)
        self.num_children = len(children_specs)
        self.num_leaves: int = 1 if type is None else sum(c.num_leaves for c in children_specs)

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The specifications of the parts; ``children()`` is its new name."""
        return self._children

    def children(self) -> list[TreeSpec]:
        """The specifications of the parts."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """The specification of one part."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Whether the tree is one leaf."""
        return self.type is None

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """What ``tree`` has at the places of the leaves; ``ValueError`` if it is of another structure down to there."""
        found: list[PyTree] = []
        _flatten_up_to(self, tree, found)
        return found

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree with these leaves."""
        row = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(row) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(row)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return _grown(iter(row), self)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self.context, self._children) == (other.type, other.context, other._children)

    def __hash__(self) -> int:
        kind = self.type
        context = tuple(self.context) if kind in (dict, OrderedDict) else None if kind is defaultdict else self.context
        return hash((kind, context, tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        head, rest = f"TreeSpec({self.type.__name__}, {self.context}, [", ""
        if self._children:
            pad = " " * (indent + 2)
            rest = self._children[0].__repr__(indent + 2)
            rest += "".join(f",\n{pad}{c.__repr__(indent + 2)}" for c in self._children[1:])
        return f"{head}{rest}])"


class LeafSpec(TreeSpec):
    """The specification of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


PyTreeSpec = TreeSpec
_LEAF = LeafSpec()


def treespec_leaf() -> LeafSpec:
    """The specification of a leaf."""
    return _LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The specification of a tuple of parts with these."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The specification of a dict of parts with these."""
    parts = dict(mapping, **kwargs)
    return TreeSpec(dict, list(parts), list(parts.values()))


def _same_structure(spec: TreeSpec, tree: Any) -> tuple[list[Any], Context]:
    """The parts of ``tree``, which must be a container like that of ``spec``."""
    kind = _get_node_type(tree)
    if kind is not spec.type and not (spec.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES):
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {kind!r}.")
    if kind in STANDARD_DICT_TYPES:
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        if len(tree) != len(keys):
            raise ValueError(f"Node arity mismatch; expected {len(keys)}, but got {len(tree)}.")
        if set(tree) != set(keys):
            raise ValueError(f"Node keys mismatch; missing key(s): {set(keys) - set(tree)}; extra key(s): "
                f"{set(tree) - set(keys)}.")
        return [tree[k] for k in keys], spec.context
    parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(parts) != spec.num_children:
        raise ValueError(f"Node arity mismatch; expected {spec.num_children}, but got {len(parts)}.")
    if context != spec.context and kind is not deque:
        raise ValueError(f"Node context mismatch for custom node type {kind!r}: expected {spec.context!r}, but got "
            f"{context!r}.")
    return parts, context


def _flatten_up_to(spec: TreeSpec, tree: Any, found: list[Any]) -> None:
    if spec.type is None:
        found.append(tree)
        return
    parts, _ = _same_structure(spec, tree)
    for child, part in zip(spec._children, parts):
        _flatten_up_to(child, part, found)


def _grown(supply: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(supply)
    return SUPPORTED_NODES[spec.type].unflatten_fn([_grown(supply, child) for child in spec._children], spec.context)
