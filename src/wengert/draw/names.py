"""What tensors, values and modules are called in a picture."""

from __future__ import annotations

import sys
from inspect import CO_OPTIMIZED
from typing import TYPE_CHECKING, Any

from ..diagnose.places import main_variables, own_variables, user_frames
from ..diagnose.record import node_modules
from ..nn import Module
from ..tensor import Tensor
from .recording import call_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

FEW = 64  # elements of a list that has a variable


class Names:
    """Names, as they are given, as modules have them, and as the variables are called that the caller sees.

    ``given``: a module, a dictionary from names to tensors (as ``state_dict()``), or pairs (``named_parameters()``).
    """

    def __init__(self, given: Any = None, module: Module | None = None, inputs: Any = ()) -> None:
        self._leaves: dict[int, str] = {}
        self._values: dict[tuple[int, int], str] = {}
        self._paths: dict[int, str] = {}
        self._kept: list[Any] = []  # whose identities these are
        if given is not None:
            self._take(given.named_parameters() if isinstance(given, Module) else
                given.items() if hasattr(given, "items") else given)
        if module is not None:
            self._module(module, "")
        self._take(inputs)
        others = {}
        for frame in user_frames():
            self._scope(own_variables(frame), frame.f_code)
            others[id(frame.f_globals)] = frame.f_globals
        for scope in (*others.values(), main_variables()):
            self._scope(scope)

    def _scope(self, variables: Any, code: CodeType | None = None) -> None:
        for name, value in list(variables.items()):
            if not name.startswith("__"):
                self._variable(name, value)
        if code is not None and code.co_flags & CO_OPTIMIZED and sys.version_info < (3, 13):
            variables.clear()  # a copy that the frame keeps: it would keep tensors after the program has deleted them

    def _take(self, pairs: Any) -> None:
        for name, t in pairs:
            if not isinstance(t, Tensor):
                raise TypeError(f"names: '{name}' should be a tensor, not {type(t).__name__}")
            self._tensor(str(name), t)

    def _tensor(self, name: str, t: Tensor) -> None:
        edge = t._wg_edge
        if edge is not None:
            self._values.setdefault((id(edge[0]), edge[1]), name)
        else:
            self._leaves.setdefault(id(t), name)
        self._kept.append(t)

    def _module(self, module: Module, name: str) -> None:
        for path, m in module.named_modules():
            self._paths.setdefault(id(m), path)
        for path, p in module.named_parameters():
            self._tensor(f"{name}.{path}" if name else path, p)
        self._kept.append(module)

    def _variable(self, name: str, value: Any) -> None:
        for found, x in _elements(name, value):
            if issubclass(type(x), Tensor):  # not what only says that it is one
                self._tensor(found, x)
            elif issubclass(type(x), Module) and x is value:
                self._module(x, "" if name == "self" else name)

    def leaf(self, t: Tensor) -> str:
        """What a leaf is called; empty if nobody says."""
        return self._leaves.get(id(t), "")

    def of(self, t: Tensor) -> str:
        """What a tensor is called, leaf or not."""
        edge = t._wg_edge
        return self.leaf(t) if edge is None else self._values.get((id(edge[0]), edge[1]), "")

    def value(self, node: Any) -> str:
        """What the first value that ``node`` made is called."""
        return self._values.get((id(node), 0), "")

    def modules(self, node: Any) -> tuple[tuple[Any, str, str], ...]:
        """For each of the modules that were running when ``node`` was made what tells its call from others, its path
        from the outermost one, and its class.
        """
        running = node_modules(node)
        if running and id(running[0]) not in self._paths:
            self._module(running[0], "")
        return tuple(((id(m), call_of(m, node.seq)), self._paths.get(id(m), ""), type(m).__name__) for m in running)


def _elements(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A variable, or the elements of a short list or dictionary."""
    if type(value) in (list, tuple) and len(value) <= FEW:
        yield from ((f"{name}[{i}]", x) for i, x in enumerate(value))
    elif type(value) is dict and len(value) <= FEW:
        yield from ((f"{name}[{key!r}]", x) for key, x in list(value.items()))
    else:
        yield name, value
