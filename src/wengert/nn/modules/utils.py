"""Sizes given as one number or one for each dimension, and prefixes of state dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Sizes = int | Sequence[int]  # one for all dimensions, or one for each

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _unusual(module: Any, **usual: Any) -> str:
    """The attributes that differ from their ``usual`` values, as ``extra_repr`` shows them behind others."""
    values = ((name, getattr(module, name, default), default) for name, default in usual.items())
    return "".join(f", {name}={value}" for name, value, default in values if value != default)


def _reverse_repeat_tuple(t: Iterable[Any], n: int) -> tuple[Any, ...]:
    """(a, b) -> (b, b, a, a) for n = 2: the order in which ``pad`` takes sizes."""
    return tuple(x for x in reversed(tuple(t)) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Strip ``prefix``, such as ``"module."``, from the keys of a state dict and of its metadata, in place.

    >>> state = torch.nn.Linear(1, 1).state_dict(prefix="module.")
    >>> torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> list(state)
    ['weight', 'bias']
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata: dict[str, Any] = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)


def _list_with_default(out_size: Any, defaults: list[int]) -> Any:
    """``out_size``, with the last of ``defaults`` where it has None; a number as it is."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [d if v is None else v for v, d in zip(out_size, defaults[-len(out_size) :])]
