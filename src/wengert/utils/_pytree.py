"""Nested containers as a flat list of leaves and a specification that puts leaves back.

Containers are lists, tuples, named tuples, dicts (also ordered and with defaults), deques, sizes of tensors, and what
:func:`register_pytree_node` adds. Everything else, None too, is a leaf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, Union

from ._pytree_nodes import (  # noqa: F401  libraries take the private ones too
    _LEAF,
    _NAMED,
    _WRITTEN,
    BUILTIN_TYPES,
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    Context,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    LeafSpec,
    MappingKey,
    NodeDef,
    PyTree,
    PyTreeSpec,
    SequenceKey,
    TreeSpec,
    _dict_flatten,
    _dict_flatten_with_keys,
    _dict_unflatten,
    _get_node_type,
    _list_flatten,
    _list_flatten_with_keys,
    _list_unflatten,
    _namedtuple_flatten,
    _namedtuple_flatten_with_keys,
    _namedtuple_unflatten,
    _tuple_flatten,
    _tuple_flatten_with_keys,
    _tuple_unflatten,
    _Written,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    key_get,
    keystr,
    treespec_dict,
    treespec_leaf,
    treespec_tuple,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "Context", "GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec", "MappingKey", "NodeDef", "PyTree", "SequenceKey",
    "TreeSpec", "key_get", "keystr", "register_constant", "register_dataclass", "register_pytree_node", "tree_all",
    "tree_all_only", "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter",
    "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_",
    "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_dict", "treespec_dumps", "treespec_leaf",
    "treespec_loads", "treespec_pprint", "treespec_tuple",
]

T, S, R = TypeVar("T"), TypeVar("S"), TypeVar("R")


def tree_is_leaf(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether ``tree`` is no container."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


# -- further containers ------------------------------------------------------------------------------------------------


def register_pytree_node(cls: type[Any], flatten_fn: Callable[[Any], tuple[list[Any], Context]],
        unflatten_fn: Callable[[Iterable[Any], Context], Any], *, serialized_type_name: str | None = None,
        to_dumpable_context: Callable[[Context], Any] | None = None,
        from_dumpable_context: Callable[[Any], Context] | None = None,
        flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[KeyEntry, Any]], Context]] | None = None) -> None:
    """Make instances of ``cls`` containers: ``flatten_fn(x)`` gives ``(parts, context)``, ``unflatten_fn`` takes them.

    ``flatten_with_keys_fn`` names the parts, for :func:`tree_map_with_path`; the others say how :func:`treespec_dumps`
    writes the class.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) is not (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered. Only one was "
            "given."
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    _WRITTEN[cls] = _Written(serialized_type_name, to_dumpable_context, from_dumpable_context)


_private_register_pytree_node = register_pytree_node


def _register_pytree_node(cls: type[Any], flatten_fn: Any, unflatten_fn: Any, to_str_fn: Any = None,
        maybe_from_str_fn: Any = None, **more: Any) -> None:
    """The same by its name of old."""
    import warnings

    warnings.warn("`torch.utils._pytree._register_pytree_node` is deprecated. Please use "
        "`torch.utils._pytree.register_pytree_node` instead.", FutureWarning, stacklevel=2)
    register_pytree_node(cls, flatten_fn, unflatten_fn, **more)


def _register_namedtuple(cls: type[Any], *, serialized_type_name: str) -> None:
    """Say under which name :func:`treespec_dumps` writes a class of named tuples, which are containers anyhow."""
    _NAMED[cls] = serialized_type_name


def _deregister_pytree_node(cls: type[Any]) -> None:
    """Make instances of ``cls`` leaves again."""
    del SUPPORTED_NODES[cls]
    _WRITTEN.pop(cls, None)


def register_dataclass(cls: type[Any], *, field_names: list[str] | None = None,
        drop_field_names: list[str] | None = None, serialized_type_name: str | None = None) -> None:
    """Make instances of a dataclass containers of their fields.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Pair:
    ...     a: int
    ...     b: int
    >>> register_dataclass(Pair)
    >>> tree_map(lambda x: x + 1, Pair(1, 2))
    Pair(a=2, b=3)
    """
    import dataclasses

    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError("field_names must be specified with a list of all fields used to initialize the class, as "
                "it is not a dataclass")
        field_names = [f.name for f in dataclasses.fields(cls) if f.init]
    names = [n for n in field_names if n not in (drop_field_names or ())]

    def parts(x: Any) -> tuple[list[str], Context]:
        present = [n for n in names if getattr(x, n) is not None]
        return present, [present, [n for n in names if n not in present]]

    def flatten(x: Any) -> tuple[list[Any], Context]:
        present, context = parts(x)
        return [getattr(x, n) for n in present], context

    def flatten_with_keys(x: Any) -> tuple[list[tuple[KeyEntry, Any]], Context]:
        present, context = parts(x)
        return [(GetAttrKey(n), getattr(x, n)) for n in present], context

    def unflatten(values: Iterable[Any], context: Context) -> Any:
        present, absent = context
        return cls(**dict(zip(present, values)), **dict.fromkeys(absent))

    register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys)


class ConstantNode(NamedTuple):
    """The context of a constant: the object itself."""

    value: Any


def register_constant(cls: type[Any]) -> None:
    """Make instances of ``cls`` parts of specifications: containers without parts, comparable and hashable."""
    if cls.__eq__ is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation, got "
            f"{cls}")
    if cls.__hash__ is None:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` implementation, got "
            f"{cls}")
    register_pytree_node(cls, lambda x: ([], ConstantNode(x)), lambda values, context: context.value,
        flatten_with_keys_fn=lambda x: ([], ConstantNode(x)))


# -- specifications ----------------------------------------------------------------------------------------------------


def treespec_pprint(treespec: TreeSpec) -> str:
    """The specification as a tree of stars."""
    return repr(tree_unflatten([_Star()] * treespec.num_leaves, treespec))


class _Star:
    def __repr__(self) -> str:
        return "*"


# -- trees -------------------------------------------------------------------------------------------------------------


def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """``(leaves, specification)``.

    >>> tree_flatten({"a": 1, "b": (2,)})
    ([1, 2], TreeSpec(dict, ['a', 'b'], [*,
      TreeSpec(tuple, None, [*])]))
    """
    leaves: list[Any] = []
    return leaves, _taken_apart(tree, leaves, is_leaf)


def _taken_apart(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF
    kind = _get_node_type(tree)
    parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_taken_apart(part, leaves, is_leaf) for part in parts])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of that specification with these leaves.

    >>> leaves, spec = tree_flatten([1, (2, 3)])
    >>> tree_unflatten([x * 10 for x in leaves], spec)
    [10, (20, 30)]
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree,
        is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """The same tree with ``func`` of each leaf, and of what stands at its place in ``rests``.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten([func(*row) for row in zip(leaves, *[spec.flatten_up_to(r) for r in rests])])


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree,
        is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """Call ``func`` on each leaf for its effect; gives ``tree``."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for row in zip(leaves, *[spec.flatten_up_to(r) for r in rests]):
        func(*row)
    return tree


def _chosen(kind: Any) -> Callable[[Any], bool]:
    if (isinstance(kind, (type, tuple)) or type(kind).__name__ in ("UnionType", "_UnionGenericAlias")
            or getattr(kind, "__origin__", None) is Union):
        return lambda x: isinstance(x, kind)
    if callable(kind):
        return kind  # type: ignore[no-any-return]
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Makes of a function one that changes only values of a type (or several, or for which a predicate holds)."""
    chosen = _chosen(type_or_types_or_pred)
    return lambda func: lambda x: func(x) if chosen(x) else x


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree,
        is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """``tree_map`` over the leaves of a type (or several, or for which a predicate holds); the others stay."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree,
        is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """``tree_map_`` over the leaves of a type (or several, or for which a predicate holds)."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves alone."""
    return list(tree_iter(tree, is_leaf))


def tree_iter(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> Iterable[Any]:
    """An iterator over the leaves."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for part in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(part, is_leaf)


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of the arguments of a call."""
    return [leaf for a in (*args, *kwargs.values()) for leaf in tree_iter(a)]


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The specification alone."""
    return tree_flatten(tree, is_leaf)[1]


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether ``pred`` holds for every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether ``pred`` holds for some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree,
        is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether ``pred`` holds for every leaf of a type, or several."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree,
        is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether ``pred`` holds for some leaf of a type, or several."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec,
        is_leaf: Callable[[Any], bool] | None = None) -> list[Any] | None:
    """The leaves of ``tree``, one for a whole container as often as that has leaves; None for another tree."""
    row, spec = tree_flatten(tree, is_leaf)
    try:
        parts = spec.flatten_up_to(tree_unflatten([0] * treespec.num_leaves, treespec))
    except ValueError:
        return None
    return [value for value, part in zip(row, parts) for _ in tree_leaves(part)]


# -- paths -------------------------------------------------------------------------------------------------------------


def tree_flatten_with_path(tree: PyTree,
        is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """``([(path, leaf), ...], specification)``; a path is a tuple of keys."""
    return list(_paths((), tree, is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[KeyPath, Any]]:
    """``[(path, leaf), ...]``.

    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [1, 2]})]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return list(_paths((), tree, is_leaf))


def _paths(above: KeyPath, tree: Any, is_leaf: Callable[[Any], bool] | None) -> Iterable[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield above, tree
        return
    kind = _get_node_type(tree)
    with_keys = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to "
            "register_pytree_node."
        )
    for key, part in with_keys(tree)[0]:
        yield from _paths((*above, key), part, is_leaf)


_generate_key_paths = _paths


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree,
        is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """``tree_map`` whose function gets the path of the leaf first."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return spec.unflatten([func(path, leaf, *row) for (path, leaf), *row in zip(found, *others)])


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """The specification as JSON."""
    from ._pytree_json import dumps  # with ``json``, which few programs need here

    return dumps(treespec, protocol)


def treespec_loads(serialized: str) -> TreeSpec:
    """The specification that :func:`treespec_dumps` wrote."""
    from ._pytree_json import loads

    return loads(serialized)
