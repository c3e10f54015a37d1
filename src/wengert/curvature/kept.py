"""The graph of a small problem's only batch, kept from one product to the next while everything is as it was."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from itertools import repeat
from operator import is_
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import kernels
from ..cpu import memory_allocated
from ..graph.modes import RECORD, modes
from ..nn.modules.module import Module
from ..tensor import Tensor, dtype

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .problem import Problem

SMALL = 1 << 20  # numbers of parameters, buffers and data that are worth comparing
BYTES = 1 << 26  # of a graph that is kept
FIXED: frozenset[type] = frozenset((int, float, complex, str, bool, type(None), type, dtype))  # what never changes
MAPPINGS = frozenset((dict, OrderedDict))
CONTAINERS = frozenset((dict, OrderedDict, list, tuple, set))


class State:
    """All that a problem's derivatives depend on: numbers of tensors, and attributes of the model's and loss's modules.

    ``known`` is False where changes could not be seen: hooks, attributes of other types, functions, large problems.
    """

    def __init__(self, problem: Problem) -> None:
        self.containers: list[tuple[Any, bool, tuple[Any, ...]]] = []
        self.empty: list[Any] = []
        self.tensors: list[tuple[Tensor, np.ndarray, int, bool]] = []
        self.copies: list[np.ndarray] = []
        self.noted: set[int] = set()
        self.size, modules = 0, [*problem.layers, *_modules(problem.loss.loss)]
        self.modules = {id(module) for module in modules}
        self.known = (modes() is RECORD and isinstance(problem.model, Module) and isinstance(problem.loss.loss, Module)
            and not any(layer.training and _has_buffers(layer) for layer in problem.layers)
            and self._sees(problem.data) and self._sees(problem.params)
            and all(self._sees(module.__dict__) for module in modules))

    def _sees(self, value: Any, name: Any = "") -> bool:
        """Note what a value holds; whether all of that is known."""
        kind = type(value)
        if kind in FIXED:
            return True
        if kind in CONTAINERS and not value:
            self.empty.append(value)
            return True
        if isinstance(value, Tensor):
            return self._sees_numbers(value)
        if isinstance(value, Module):
            return id(value) in self.modules
        mapping = kind in MAPPINGS or (kind not in CONTAINERS and isinstance(value, Mapping))
        if mapping or kind in CONTAINERS or isinstance(value, (tuple, list, set)):
            if str(name).endswith("_hooks"):
                return False
            held = tuple(value.values() if mapping else value)
            self.containers.append((value, mapping, held))
            return self._sees_all(held, value if mapping else repeat(""))
        if isinstance(value, (FunctionType, BuiltinFunctionType)):  # others may depend on anything
            return value.__module__.partition(".")[0] == __name__.partition(".")[0]
        return isinstance(value, tuple(FIXED))

    def _sees_all(self, values: tuple[Any, ...], names: Iterable[Any]) -> bool:
        """The same of several; most are attributes of layers that have no tensors in them."""
        empty = self.empty
        for value, name in zip(values, names):
            kind = type(value)
            if kind in CONTAINERS and not value:
                empty.append(value)
            elif kind not in FIXED and not self._sees(value, name):
                return False
        return True

    def _sees_numbers(self, value: Tensor) -> bool:
        if id(value) in self.noted:  # a parameter, by another way
            return True
        self.noted.add(id(value))
        array = value._wg_data
        self.size += array.size
        if type(array) is not np.ndarray or self.size > SMALL:
            return False
        self.tensors.append((value, array, value._wg_vc[0], value.requires_grad))
        return True

    def copied(self) -> State:
        """With the numbers as they are: copied after the product, when the memory of its walk is free again."""
        self.copies = [array.copy() for _, array, _, _ in self.tensors]
        return self

    def same(self) -> bool:
        """Whether nothing that versions count and containers hold has changed since."""
        if modes() is not RECORD or any(self.empty):
            return False
        for container, mapping, held in self.containers:
            if len(container) != len(held) or not all(map(is_, container.values() if mapping else container, held)):
                return False
        return all(t._wg_data is array and t._wg_vc[0] == version and t.requires_grad is wanted
            for t, array, version, wanted in self.tensors)

    def holds(self) -> bool:
        """Whether all that is the same, and the numbers are."""
        return self.same() and all((array == then).all() for (_, array, _, _), then in zip(self.tensors, self.copies))


def _modules(loss: Any) -> list[Module]:
    return list(loss.modules()) if isinstance(loss, Module) else []


def allocated() -> int:
    """The bytes of all arrays; 0 without the native extension, which counts them."""
    return memory_allocated() if kernels.available else 0


def _has_buffers(layer: Module) -> bool:
    """Whether a layer may write to buffers while it trains."""
    return any(b is not None for b in layer._buffers.values())


class Kept:
    """How a batch was prepared for products, and the state at that time. It is not copied with its owner.

    A state is noted for the second product: the first, of which many are the only one, costs nothing for it.
    """

    def __init__(self) -> None:
        self.state: State | None = None
        self.product: Any = None
        self.again, self.large = False, False  # whether there was a product before; whether the graph is too large

    def found(self) -> Any:
        """What was kept, if it still holds; else it is forgotten."""
        if self.state is not None and not self.state.holds():
            self.state = self.product = None
            self.again = False
        return self.product

    def noted(self, problem: Problem) -> State | None:
        """The state before a pass whose graph may be kept, if changes of what that depends on can be seen."""
        again, self.again = self.again, True
        state = State(problem) if again and not self.large else None
        return state if state is not None and state.known else None

    def keep(self, state: State, product: Any, size: int) -> None:
        """Keep ``product``, unless it holds too many bytes or its pass has changed what it depends on."""
        self.large = size > BYTES
        if not self.large and state.same():
            self.state, self.product = state.copied(), product

    def __reduce__(self) -> Any:
        return Kept, ()
