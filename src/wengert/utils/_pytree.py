"""Nested containers as a flat list of leaves and a specification that puts leaves back.

Containers are lists, tuples, named tuples, dicts (also ordered and with defaults), deques, and what
:func:`register_pytree_node` adds. Everything else, None too, is a leaf.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "LeafSpec", "PyTree", "TreeSpec", "register_pytree_node", "tree_all", "tree_any", "tree_flatten", "tree_iter", "tree_leaves",
    "tree_map", "tree_map_", "tree_map_only", "tree_structure", "tree_unflatten",
]  # fmt: skip

PyTree = Any


class _Kind(NamedTuple):
    flatten: Callable[[Any], tuple[list[Any], Any]]
    unflatten: Callable[[Iterable[Any], Any], Any]


def _keyed(d: Any) -> tuple[list[Any], Any]:
    return list(d.values()), list(d)


_KINDS: dict[type, _Kind] = {
    list: _Kind(lambda x: (list(x), None), lambda parts, _: list(parts)),
    tuple: _Kind(lambda x: (list(x), None), lambda parts, _: tuple(parts)),
    dict: _Kind(_keyed, lambda parts, keys: dict(zip(keys, parts))),
    OrderedDict: _Kind(_keyed, lambda parts, keys: OrderedDict(zip(keys, parts))),
    defaultdict: _Kind(
        lambda d: (list(d.values()), (d.default_factory, list(d))), lambda parts, c: defaultdict(c[0], zip(c[1], parts))
    ),
    deque: _Kind(lambda d: (list(d), d.maxlen), lambda parts, maxlen: deque(parts, maxlen)),
}
_NAMED = _Kind(lambda x: (list(x), type(x)), lambda parts, kind: kind(*parts))


def register_pytree_node(
    cls: type, flatten_fn: Callable[[Any], tuple[list[Any], Any]], unflatten_fn: Callable[[Iterable[Any], Any], Any], **_: Any
) -> None:
    """Make instances of ``cls`` containers: ``flatten_fn(x)`` gives ``(parts, context)``, ``unflatten_fn`` takes them."""
    if cls in _KINDS:
        raise ValueError(f"{cls} is already registered as pytree node. Overwriting the previous registration is not allowed.")
    _KINDS[cls] = _Kind(flatten_fn, unflatten_fn)


def _kind(tree: Any) -> _Kind | None:
    found = _KINDS.get(type(tree))
    return _NAMED if found is None and isinstance(tree, tuple) and hasattr(tree, "_fields") else found


class TreeSpec:
    """What a tree is apart from its leaves."""

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_nodes: int = 1 + sum(c.num_nodes for c in children_specs)
        self.num_children = len(children_specs)
        self.num_leaves: int = 1 if type is None else sum(c.num_leaves for c in children_specs)

    def is_leaf(self) -> bool:
        """Whether the tree is one leaf."""
        return self.type is None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self.context, self.children_specs) == (other.type, other.context, other.children_specs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.context}, [{', '.join(map(repr, self.children_specs))}])"


class LeafSpec(TreeSpec):
    """The specification of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """``(leaves, specification)``.

    >>> tree_flatten({"a": 1, "b": (2, [3])})
    ([1, 2, 3], TreeSpec(dict, ['a', 'b'], [*, TreeSpec(tuple, None, [*, TreeSpec(list, None, [*])])]))
    """
    kind = None if is_leaf is not None and is_leaf(tree) else _kind(tree)
    if kind is None:
        return [tree], LeafSpec()
    parts, context = kind.flatten(tree)
    flat = [tree_flatten(part, is_leaf) for part in parts]
    spec = TreeSpec(tuple if kind is _NAMED else type(tree), context, [s for _, s in flat])
    if kind is _NAMED:
        spec.type = type(tree)
    return [leaf for row, _ in flat for leaf in row], spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of that specification with these leaves.

    >>> leaves, spec = tree_flatten([1, (2, 3)])
    >>> tree_unflatten([x * 10 for x in leaves], spec)
    [10, (20, 30)]
    """
    row = list(leaves)
    if len(row) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(row)} but the spec refers to a pytree that holds {treespec.num_leaves}"
            f" items ({treespec})."
        )
    return _grown(iter(row), treespec)


def _grown(supply: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(supply)
    parts = [_grown(supply, child) for child in spec.children_specs]
    return _KINDS.get(spec.type, _NAMED).unflatten(parts, spec.context)


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """The same tree with ``func`` of each leaf, and of the leaves at its place in ``rests``.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    rows = [leaves]
    for rest in rests:
        found, other = tree_flatten(rest, is_leaf)
        if other != spec:
            raise ValueError(f"the trees differ in structure: {spec} and {other}")
        rows.append(found)
    return tree_unflatten([func(*row) for row in zip(*rows)], spec)


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """Call ``func`` on each leaf for its effect; gives ``tree``."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """``tree_map`` over the leaves of a type (or several); the others stay."""
    return tree_map(lambda x: func(x) if isinstance(x, kind) else x, tree, is_leaf=is_leaf)


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves alone."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> Iterable[Any]:
    """An iterator over the leaves."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The specification alone."""
    return tree_flatten(tree, is_leaf)[1]


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether ``pred`` holds for every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether ``pred`` holds for some leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))
