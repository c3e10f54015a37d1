"""The containers that trees are made of: how each is taken apart and put together."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import TYPE_CHECKING, Any, NamedTuple

from ..ops.structseq import StructSeq
from ..tensor.types import Size
from ._pytree_keys import GetAttrKey, KeyEntry, MappingKey, SequenceKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Context = Any  # what a container is apart from its parts: the keys of a dict, say


class NodeDef(NamedTuple):
    """How containers of one type are taken apart and put together."""

    type: type[Any]
    flatten_fn: Callable[[Any], tuple[list[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[KeyEntry, Any]], Context]] | None = None


# -- the containers of Python ------------------------------------------------------------------------------------------


def _list_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), None


def _sequence_with_keys(flatten: Callable[[Any], tuple[list[Any], Context]]) -> Callable[[Any],
        tuple[list[tuple[KeyEntry, Any]], Context]]:
    def with_keys(d: Any) -> tuple[list[tuple[KeyEntry, Any]], Context]:
        parts, context = flatten(d)
        return [(SequenceKey(i), part) for i, part in enumerate(parts)], context

    return with_keys


def _list_unflatten(values: Iterable[Any], context: Context) -> list[Any]:
    return list(values)


def _tuple_unflatten(values: Iterable[Any], context: Context) -> tuple[Any, ...]:
    return tuple(values)


_tuple_flatten = _list_flatten
_list_flatten_with_keys = _tuple_flatten_with_keys = _sequence_with_keys(_list_flatten)


def _dict_flatten(d: Mapping[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), list(d.keys())


def _dict_flatten_with_keys(d: Mapping[Any, Any]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(MappingKey(k), v) for k, v in d.items()], list(d.keys())


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values))


_ordereddict_flatten, _ordereddict_flatten_with_keys = _dict_flatten, _dict_flatten_with_keys


def _ordereddict_unflatten(values: Iterable[Any], context: Context) -> OrderedDict[Any, Any]:
    return OrderedDict(zip(context, values))


_odict_flatten, _odict_unflatten = _ordereddict_flatten, _ordereddict_unflatten


def _defaultdict_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d.values()), [d.default_factory, list(d.keys())]


def _defaultdict_flatten_with_keys(d: Any) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(MappingKey(k), v) for k, v in d.items()], [d.default_factory, list(d.keys())]


def _defaultdict_unflatten(values: Iterable[Any], context: Context) -> defaultdict[Any, Any]:
    return defaultdict(context[0], zip(context[1], values))


def _deque_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), d.maxlen


def _deque_unflatten(values: Iterable[Any], context: Context) -> deque[Any]:
    return deque(values, maxlen=context)


_deque_flatten_with_keys = _sequence_with_keys(_deque_flatten)


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d: Any) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(GetAttrKey(name), part) for name, part in zip(d._fields, d)], type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Context) -> Any:
    return context(*values)


def _row_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), None


_ROWS: tuple[tuple[Any, ...], ...] = (
    (tuple, _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys),
    (list, _list_flatten, _list_unflatten, _list_flatten_with_keys),
    (dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
    (namedtuple, _namedtuple_flatten, _namedtuple_unflatten, _namedtuple_flatten_with_keys),
    (OrderedDict, _ordereddict_flatten, _ordereddict_unflatten, _ordereddict_flatten_with_keys),
    (defaultdict, _defaultdict_flatten, _defaultdict_unflatten, _defaultdict_flatten_with_keys),
    (deque, _deque_flatten, _deque_unflatten, _deque_flatten_with_keys),
    (Size, _list_flatten, _tuple_unflatten, _list_flatten_with_keys),
)
SUPPORTED_NODES: dict[Any, NodeDef] = {row[0]: NodeDef(*row) for row in _ROWS}
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
        SUPPORTED_NODES[kind] = NodeDef(kind, _row_flatten, lambda values, context: kind(values),
            _sequence_with_keys(_row_flatten))
    return namedtuple if kind not in SUPPORTED_NODES and is_namedtuple_class(kind) else kind
