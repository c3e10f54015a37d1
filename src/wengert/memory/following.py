"""A step is watched as ``draw.step`` does, and for every array it is noted what it is, whose, and who made it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from ..arrays import memory
from ..diagnose.record import node_modules, node_place
from ..diagnose.snapshot import base_of
from ..draw.memory import BACKWARD, BEFORE, ELSE, FLOWING, FORWARD, GRADIENTS, PARAMETERS, STATE, Step, Watch
from ..tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..diagnose.places import Place
    from ..graph.interceptors import Call
    from ..nn import Module
    from ..optim import Optimizer

KINDS = ("parameters", "buffers", "gradients", "optimizer_state", "activations", "temporaries", "other")
# as ``draw.step`` calls them
SHOWN = {"parameters": PARAMETERS, "buffers": PARAMETERS, "gradients": GRADIENTS, "optimizer_state": STATE,
    "temporaries": FLOWING, "other": ELSE}


class Owner(NamedTuple):
    """What holds memory: its kind, the module, line and operator that it is of. What stays has no line and operator."""

    kind: str
    module: str
    place: Place | None
    operator: str


class Follow(Watch):
    """``marks``: for each sample the seconds since the beginning, the most bytes until then, and the operation."""

    def __init__(self, model: Module | None, optimizer: Optimizer | None) -> None:
        self.marks: list[tuple[float, int, Owner]] = []
        self._names = {} if model is None else {m: name for name, m in model.named_modules()}
        self._fixed: dict[int, Owner] = {}
        for key, owner in _fixed(self._names, optimizer):
            self._fixed.setdefault(key, owner)  # shared ones are those of the first module
        self._now = Owner("other", "other", None, "other")
        self._leaf: Any = None
        if memory.available:
            memory.reset_peak()
        self._begin = time.perf_counter()
        super().__init__(model, optimizer)

    # -- whose an array is ---------------------------------------------------------------------------------------------

    def _own(self, array: Any, who: Any, again: bool = False) -> None:
        super()._own(array, self._owner(array, who), again)

    def _owner(self, array: Any, who: Any) -> Owner:
        if who == PARAMETERS:
            return self._fixed.get(id(base_of(array))) or Owner("parameters", "", None, "parameters")
        if who == STATE or (isinstance(who, tuple) and who[0] == STATE):
            return Owner("optimizer_state", self._module_of(who[1]) if who != STATE else "", None, "optimizer_state")
        if who == GRADIENTS:
            known = self._fixed.get(id(base_of(array)))
            return known or Owner("gradients", self._module_of(self._leaf), None, "gradients")
        return self._now._replace(kind="activations" if self._phase == FORWARD else "temporaries")

    def _module_of(self, leaf: Any) -> str:
        found = self._fixed.get(id(base_of(leaf._wg_data))) if isinstance(leaf, Tensor) else None
        return "" if found is None else found.module

    def _track_state(self) -> None:
        for p, state in ({} if self._optimizer is None else self._optimizer.state).items():
            for value in state.values():
                if isinstance(value, Tensor):
                    self._own(value._wg_data, (STATE, p))

    # -- what is running -----------------------------------------------------------------------------------------------

    def intercept(self, call: Call, call_next: Callable[[Call], Any]) -> Any:
        """A call of an operator."""
        def then(call: Call) -> Any:
            answer = call_next(call)
            self._now = Owner("temporaries", self._path(self._here.modules), None, call.name)
            return answer

        return super().intercept(call, then)

    def check(self, node: Any, grads: Any, raw: bool, g: Any = None) -> None:
        """A node of a walk has run."""
        self._leaf = getattr(node, "variable", None) if node.is_leaf else None
        module = self._module_of(self._leaf) if node.is_leaf else self._path(node_modules(node))
        self._now = Owner("temporaries", module, node_place(node), node.name())
        super().check(node, grads, raw, g)

    def _path(self, modules: Any) -> str:
        """The innermost of the modules that has a name."""
        for m in reversed(modules):
            if m in self._names:
                return self._names[m]
        return "" if not modules or self._names else type(modules[-1]).__name__

    def _sample(self, name: str, at: Place | None) -> None:
        super()._sample(name, at)
        total = self.step.samples[-1].total
        most = memory.counts().peak if self._counted else max(total, self.marks[-1][1] if self.marks else 0)
        now = self._now._replace(place=at) if self._phase != BACKWARD else self._now
        self.marks.append((time.perf_counter() - self._begin, most, now))


def _fixed(names: dict[Module, str], optimizer: Optimizer | None) -> Any:
    """By the identity of its array what a parameter, a buffer or their gradient is."""
    for module, name in names.items():
        for kind, rows in (("parameters", module._parameters), ("buffers", module._buffers)):
            for x in rows.values():
                if isinstance(x, Tensor):
                    yield id(base_of(x._wg_data)), Owner(kind, name, None, kind)
                    if x.grad is not None:
                        yield id(base_of(x.grad._wg_data)), Owner("gradients", name, None, "gradients")
    for group in [] if optimizer is None or names else optimizer.param_groups:
        for p in group["params"]:
            yield id(base_of(p._wg_data)), Owner("parameters", "", None, "parameters")


def as_drawn(step: Step) -> Step:
    """The step with the owners that ``draw.step`` knows."""
    other = Step()
    other.samples, other.before, other.most, other.result = step.samples, step.before, step.most, step.result
    other.changes = [(at, shown(who), count) for at, who, count in step.changes]
    return other


def shown(who: Any) -> Any:
    """An owner as ``draw.step`` calls it: a line, or a name."""
    if not isinstance(who, Owner):
        return who
    return who.place if who.kind == "activations" and who.place is not None else SHOWN.get(who.kind, ELSE)


__all__ = ["BEFORE", "ELSE", "KINDS", "Follow", "Owner", "as_drawn"]
