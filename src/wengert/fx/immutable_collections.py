"""The lists and dicts in the arguments of a node: they cannot be changed in place, so that a node knows its inputs."""

from __future__ import annotations

from typing import Any, NoReturn

from ..utils import _pytree as pytree

__all__ = ["immutable_list", "immutable_dict"]

_ADVICE = """If you are attempting to modify the kwargs or args of a torch.fx.Node object,
instead create a new copy of it and assign the copy to the node:

    new_args = ...  # copy and mutate args
    node.args = new_args"""


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(f"{type(self).__name__!r} object does not support mutation. {_ADVICE}")


class immutable_list(list[Any]):
    """A list that cannot be changed.

    >>> from wengert.fx.immutable_collections import immutable_list
    >>> row = immutable_list([1, 2])
    >>> row == [1, 2], hash(row) == hash((1, 2))
    (True, True)
    """

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse  # type: ignore[assignment]
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self),)


class immutable_dict(dict[Any, Any]):
    """A dict that cannot be changed.

    >>> from wengert.fx.immutable_collections import immutable_dict
    >>> immutable_dict(dim=1)
    {'dim': 1}
    """

    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]
    __delitem__ = __ior__ = __setitem__ = _refuse  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self.items()),)


pytree.register_pytree_node(immutable_list, lambda row: (list(row), None),
    lambda values, _: immutable_list(values),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
    flatten_with_keys_fn=lambda row: ([(pytree.SequenceKey(i), v) for i, v in enumerate(row)], None))
pytree.register_pytree_node(immutable_dict, pytree._dict_flatten,
    lambda values, keys: immutable_dict(pytree._dict_unflatten(values, keys)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
    flatten_with_keys_fn=pytree._dict_flatten_with_keys)
