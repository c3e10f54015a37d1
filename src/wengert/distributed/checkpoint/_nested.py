"""Nested state dicts as flat ones, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...tensor import Tensor


def _ends(v: Any) -> bool:
    """Whether what is in ``v`` gets no names of its own: only dicts are taken apart, and lists with tensors."""
    if isinstance(v, Mapping):
        return False
    if not isinstance(v, list):
        return True
    return not any(isinstance(x, Tensor) or (isinstance(x, (Mapping, list)) and not _ends(x)) for x in v)


def flatten_state_dict(state_dict: Any) -> tuple[dict[str, Any], dict[str, tuple[Any, ...]]]:
    """The entries by names with dots, and the path of each.

    >>> from wengert.distributed.checkpoint._nested import flatten_state_dict
    >>> flatten_state_dict({"a": {"b": 1}})
    ({'a.b': 1}, {'a.b': ('a', 'b')})
    """
    found: dict[str, Any] = {}
    paths: dict[str, tuple[Any, ...]] = {}

    def visit(path: tuple[Any, ...], v: Any) -> None:
        if _ends(v) or not v:
            name = ".".join(map(str, path))
            if name in found:
                raise ValueError(f"duplicated flatten key {name}")
            found[name], paths[name] = v, path
            return
        for key, x in v.items() if isinstance(v, Mapping) else enumerate(v):
            visit((*path, str(key) if isinstance(v, Mapping) else key), x)

    for key, v in state_dict.items():
        visit((str(key),), v)
    return found, paths


def set_element(root: Any, path: tuple[Any, ...], value: Any) -> None:
    """Put ``value`` at a path, with the dicts and lists on the way to it."""
    here = root
    for i, key in enumerate(path):
        key = _key(here, key)
        if isinstance(here, list):
            here.extend([None] * (key + 1 - len(here)))
        if i == len(path) - 1:
            here[key] = value
            return
        if (here[key] if isinstance(here, list) else here.get(key)) is None:
            here[key] = [] if isinstance(path[i + 1], int) else {}
        here = here[key]


def _key(where: Any, key: Any) -> Any:
    """A key of a dict as the dict has it: names in paths are text."""
    if isinstance(where, dict) and key not in where and isinstance(key, str) and key.lstrip("-").isdigit():
        return int(key) if int(key) in where else key
    return key
