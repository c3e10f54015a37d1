"""Tensors in values, and the memory that they look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..diagnose.snapshot import base_of
from ..tensor import Tensor
from ..utils._pytree import tree_leaves, tree_map

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def tensors_of(value: Any) -> list[Tensor]:
    """The tensors in a value."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, _NUMBERS):
        return []
    if not isinstance(value, (tuple, list)):
        return [x for x in tree_leaves(value) if isinstance(x, Tensor)]
    found: list[Tensor] = []
    for x in value:
        if isinstance(x, Tensor):
            found.append(x)
        elif not isinstance(x, _NUMBERS):
            found += tensors_of(x)
    return found


_NUMBERS = (int, float, str, type(None))


class Ref(NamedTuple):
    """Stands for a value of a program in the arguments of an operation."""

    name: str


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Tensor]]:
    """The tensors in nested tuples, lists and dictionaries, with the keys that lead to them."""
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, (tuple, list)):
        for k, v in enumerate(value):
            yield from paths_of(v, (*path, k))
    elif isinstance(value, dict):
        for key, v in value.items():
            yield from paths_of(v, (*path, key))


def picked(value: Any, path: Sequence[Any]) -> Any:
    """What is at such a path."""
    for key in path:
        value = value[key]
    return value


def storage(t: Tensor) -> Any:
    """The array that owns a tensor's memory."""
    return base_of(t._wg_data)


def detached(value: Any) -> Any:
    """A value without its history."""
    if isinstance(value, Tensor):
        return value.detach()
    return value if not tensors_of(value) else tree_map(lambda x: x.detach() if isinstance(x, Tensor) else x, value)


def values_in(env: dict[str, Any], names: Sequence[str]) -> Iterator[tuple[str, int, Tensor]]:
    """The tensors of values, with the name and the number in it."""
    for name in names:
        for k, t in enumerate(tensors_of(env[name])):
            yield name, k, t
