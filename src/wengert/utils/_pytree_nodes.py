"""What trees are made of: keys that lead to a leaf, containers and how each is taken apart, and specifications."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..ops.structseq import StructSeq
from ..tensor.types import Size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

PyTree = Any
Context = Any  # what a container is apart from its parts: the keys of a dict, say


# -- where a leaf stands in a tree -------------------------------------------------------------------------------------


class KeyEntry(Protocol):
    """One step into a container."""

    def __hash__(self) -> int: ...

    def __eq__(self, other: object) -> bool: ...

    def __str__(self) -> str: ...

    def get(self, parent: Any) -> Any:
        """The part of ``parent`` that the step leads to."""


KeyPath = tuple[KeyEntry, ...]


class SequenceKey(NamedTuple):
    """The place in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, parent: Any) -> Any:
        """The element."""
        return parent[self.idx]


class MappingKey(NamedTuple):
    """The key of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, parent: Any) -> Any:
        """The value."""
        return parent[self.key]


class GetAttrKey(NamedTuple):
    """The name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, parent: Any) -> Any:
        """The attribute."""
        return getattr(parent, self.name)


def keystr(kp: KeyPath) -> str:
    """A path as it would be written: ``['a'][0].x``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What stands in ``obj`` at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# -- containers --------------------------------------------------------------------------------------------------------


class NodeDef(NamedTuple):
    """How containers of one type are taken apart and put together."""

    type: type[Any]
    flatten_fn: Callable[[Any], tuple[list[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[KeyEntry, Any]], Context]] | None = None


def _dict_flatten(d: Mapping[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), list(d.keys())


def _dict_flatten_with_keys(d: Mapping[Any, Any]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(MappingKey(k), v) for k, v in d.items()], list(d.keys())


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values))


def _indices(row: Any) -> Iterable[KeyEntry]:
    return map(SequenceKey, range(len(row)))


def _node(kind: Any, flatten: Any, unflatten: Any, keys: Callable[[Any], Iterable[KeyEntry]]) -> NodeDef:
    """Containers whose parts have the keys ``keys(container)``."""

    def with_keys(d: Any) -> tuple[list[tuple[KeyEntry, Any]], Context]:
        parts, context = flatten(d)
        return list(zip(keys(d), parts)), context

    return NodeDef(kind, flatten, unflatten, with_keys)


_BUILTIN = (
    _node(tuple, lambda d: (list(d), None), lambda values, context: tuple(values), _indices),
    _node(list, lambda d: (list(d), None), lambda values, context: list(values), _indices),
    NodeDef(dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
    _node(namedtuple, lambda d: (list(d), type(d)), lambda values, context: context(*values),
        lambda d: map(GetAttrKey, d._fields)),
    NodeDef(OrderedDict, _dict_flatten, lambda values, keys: OrderedDict(zip(keys, values)), _dict_flatten_with_keys),
    _node(defaultdict, lambda d: (list(d.values()), [d.default_factory, list(d.keys())]),
        lambda values, context: defaultdict(context[0], zip(context[1], values)), lambda d: map(MappingKey, d)),
    _node(deque, lambda d: (list(d), d.maxlen), lambda values, context: deque(values, maxlen=context), _indices),
    _node(Size, lambda d: (list(d), None), lambda values, context: tuple(values), _indices),
)
SUPPORTED_NODES: dict[Any, NodeDef] = {node.type: node for node in _BUILTIN}
# tensordict and norse register classes of their own with these
_, _list_flatten, _list_unflatten, _list_flatten_with_keys = SUPPORTED_NODES[list]
_, _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys = SUPPORTED_NODES[tuple]
_, _namedtuple_flatten, _namedtuple_unflatten, _namedtuple_flatten_with_keys = SUPPORTED_NODES[namedtuple]
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})


def is_namedtuple(obj: Any) -> bool:
    """Whether ``obj`` is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls: Any) -> bool:
    """Whether ``cls`` is a class of named tuples."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether ``obj`` is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether ``obj`` is one of the named results of operators (or of ``os.stat`` and the like), or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: Any) -> bool:
    """Whether ``cls`` is a class of such results."""
    return (isinstance(cls, type) and issubclass(cls, tuple)
        and (cls.__module__ == "torch.return_types" or hasattr(cls, "n_sequence_fields")))


def is_structseq_instance(obj: Any) -> bool:
    """Whether ``obj`` is such a result."""
    return is_structseq_class(type(obj))


def _get_node_type(tree: Any) -> Any:
    kind = type(tree)
    if kind not in SUPPORTED_NODES and issubclass(kind, StructSeq):
        SUPPORTED_NODES[kind] = _node(kind, lambda d: (list(d), None), lambda values, context: kind(values), _indices)
    return namedtuple if kind not in SUPPORTED_NODES and is_namedtuple_class(kind) else kind


# -- specifications ----------------------------------------------------------------------------------------------------


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
        if self.type is None:
            return [tree]
        pairs = zip(self._children, _same_structure(self, tree))
        return [found for child, part in pairs for found in child.flatten_up_to(part)]

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


def _same_structure(spec: TreeSpec, tree: Any) -> list[Any]:
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
        return [tree[k] for k in keys]
    parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(parts) != spec.num_children:
        raise ValueError(f"Node arity mismatch; expected {spec.num_children}, but got {len(parts)}.")
    if context != spec.context and kind is not deque:
        raise ValueError(f"Node context mismatch for custom node type {kind!r}: expected {spec.context!r}, but got "
            f"{context!r}.")
    return parts


def _grown(supply: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(supply)
    return SUPPORTED_NODES[spec.type].unflatten_fn([_grown(supply, child) for child in spec._children], spec.context)
