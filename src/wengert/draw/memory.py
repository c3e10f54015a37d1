"""The memory over one training step: which lines hold how much, after each operation."""

from __future__ import annotations

import weakref
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import memory
from ..diagnose.places import place, user_site
from ..diagnose.record import node_place
from ..diagnose.snapshot import base_of
from ..graph.interceptors import Interceptor
from ..graph.modes import change, modes
from ..optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from ..tensor import Tensor
from .graph import kept_by
from .recording import recording
from .text import many, size, source, where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..diagnose.places import Place
    from ..graph.interceptors import Call
    from ..nn import Module
    from ..optim import Optimizer

# who holds memory, beside the lines of the program
PARAMETERS, STATE, GRADIENTS, BEFORE = "parameters", "optimizer state", "gradients", "held before the step"
FLOWING, ELSE, OTHERS = "gradients on their way", "not attributed", "other lines"
FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"


@dataclass(slots=True)
class Sample:
    """A moment: after the operation ``name``, of ``place``. ``total``: the bytes that arrays hold then."""

    phase: str
    name: str
    place: Place | None
    total: int = 0


class Step:
    """One training step: ``samples``, and who held how much at each (``held``). ``result``: what the step gave.

    ``most``: the most bytes that arrays held at any moment, inside of operations too, where that is known.
    """

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.changes: list[tuple[int, Any, int]] = []  # the number of a sample, who, bytes more or less
        self.before = 0  # bytes that were held before by nobody who is known
        self.most = 0
        self.result: Any = None

    def held(self) -> Iterator[dict[Any, int]]:
        """For each sample the bytes that each held: lines (``Place``), and what has a name here."""
        rows: defaultdict[int, list[tuple[Any, int]]] = defaultdict(list)
        for at, who, change_ in self.changes:
            rows[at].append((who, change_))
        now: defaultdict[Any, int] = defaultdict(int)
        for i, sample in enumerate(self.samples):
            for who, change_ in rows[i]:
                now[who] += change_
            known = sum(now.values())
            found = {who: count for who, count in now.items() if count > 0}
            # what the program had before may be freed in the step
            found[BEFORE] = min(self.before, max(0, sample.total - known))
            found[ELSE] = max(0, sample.total - known - found[BEFORE])
            yield found

    @property
    def peak(self) -> int:
        """The number of the sample with the most bytes."""
        return max(range(len(self.samples)), key=lambda i: self.samples[i].total)

    def at_peak(self) -> list[tuple[Any, int]]:
        """Who held how much at the peak, the largest first."""
        peak = self.peak
        held = next(row for i, row in enumerate(self.held()) if i == peak)
        return sorted(((who, count) for who, count in held.items() if count), key=lambda pair: -pair[1])


def label(who: Any) -> str:
    """Who holds memory, as text: a line with its source, or a name."""
    return who if isinstance(who, str) else f"{where(who)}  {source(who)}"


def heading(step: Step) -> str:
    """A line about a step."""
    sample = step.samples[step.peak]
    at = f" in {where(sample.place)}" if sample.place is not None else ""
    text = f"most held: {size(sample.total)}, {sample.phase}, after {sample.name}{at}"
    if step.most > sample.total:
        text += f" ({size(step.most)} inside an operation)"
    return f"{text} · {many(len(step.samples) - 1, 'operation')}"


class Watch(recording, Interceptor):
    """Takes the samples while a step runs."""

    def __init__(self, model: Module | None, optimizer: Optimizer | None) -> None:
        super().__init__()
        self.step = Step()
        self._optimizer = optimizer
        self._phase = FORWARD
        self._owners: dict[int, tuple[weakref.ref[Any], Any]] = {}  # by the identity of an array
        self._walks = 0
        self._counted = memory.available
        self._track_parameters(model)
        self.step.before = max(0, self._total() - self._tracked) if self._counted else 0
        self._sample("begin", None)

    def _track_parameters(self, model: Module | None) -> None:
        self._tracked = 0
        groups = [] if self._optimizer is None else self._optimizer.param_groups
        found = [p for group in groups for p in group["params"]]
        if model is not None:
            found += [*model.parameters(), *model.buffers()]
        for p in found:
            self._own(p._wg_data, PARAMETERS)
            if p.grad is not None:
                self._own(p.grad._wg_data, GRADIENTS)
        self._track_state()

    def _track_state(self) -> None:
        for state in [] if self._optimizer is None else self._optimizer.state.values():
            for value in state.values():
                if isinstance(value, Tensor):
                    self._own(value._wg_data, STATE)

    # -- arrays -------------------------------------------------------------------------------------------------------

    def _own(self, array: Any, who: Any, again: bool = False) -> None:
        """Note that ``who`` holds an array, unless somebody does (``again``: even then), until it is freed."""
        base = base_of(array)
        if not isinstance(base, np.ndarray):
            return
        known = self._owners.get(id(base))
        if known is not None:
            if again and known[1] != who:
                self._change(known[1], -base.nbytes)
                self._owners[id(base)] = known[0], who
                self._change(who, base.nbytes)
            return
        gone = partial(self._gone, id(base), base.nbytes)
        self._owners[id(base)] = weakref.ref(base, gone), who
        self._change(who, base.nbytes)

    def _gone(self, key: int, count: int, _: Any) -> None:
        known = self._owners.pop(key, None)
        if known is not None:
            self._change(known[1], -count)

    def _change(self, who: Any, count: int) -> None:
        self._tracked += count
        self.step.changes.append((len(self.step.samples), who, count))

    def _total(self) -> int:
        return memory.memory_allocated() if self._counted else self._tracked

    def _sample(self, name: str, at: Place | None) -> None:
        self.step.samples.append(Sample(self._phase, name, at, self._total()))

    # -- the forward --------------------------------------------------------------------------------------------------

    def intercept(self, call: Call, call_next: Callable[[Call], Any]) -> Any:
        """A call of an operator: what it gives is its line's, and what its node keeps."""
        answer = call_next(call)
        at = place(user_site())
        given = {id(base_of(t._wg_data)) for t in _tensors((*call.args, *call.kwargs.values()))}
        results = _tensors((answer,))
        for t in results:
            if id(base_of(t._wg_data)) not in given and call.kind != "inplace" and call.out is None:
                self._own(t._wg_data, at)
        edge = results[0]._wg_edge if results else None
        for _, array in () if edge is None or edge[0].is_leaf else kept_by(edge[0]):
            if id(base_of(array)) not in given:
                self._own(array, at)
        self._sample(call.name, at)
        return answer

    # -- the backward -------------------------------------------------------------------------------------------------

    def enter(self) -> str:
        before, self._phase = self._phase, BACKWARD
        return before

    def leave(self, before: Any) -> None:
        self._phase = before

    def check(self, node: Any, grads: Any, raw: bool, g: Any = None) -> None:
        """A node of a walk has run."""
        if node.is_leaf:
            leaf = getattr(node, "variable", None)
            if leaf is not None and leaf.grad is not None:
                self._own(leaf.grad._wg_data, GRADIENTS, again=True)
        else:
            for x in grads or ():
                array = getattr(x, "_wg_data", x)
                if array is not None:
                    self._own(array, FLOWING)
        self._sample(node.name(), node_place(node))

    # -- the optimizer ------------------------------------------------------------------------------------------------

    def _steps(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._phase = OPTIMIZER

    def _stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._optimizer is None:
            self._optimizer = optimizer
        self._track_state()
        self._sample(f"{type(optimizer).__name__}.step", place(user_site()))
        self._phase = FORWARD

    # -- on and off ---------------------------------------------------------------------------------------------------

    def __enter__(self) -> Watch:
        super().__enter__()
        change(watchers=(*modes().watchers, self))
        self._handles += [register_optimizer_step_pre_hook(self._steps),
            register_optimizer_step_post_hook(self._stepped)]
        return self

    def __exit__(self, *exc: object) -> None:
        change(watchers=tuple(w for w in modes().watchers if w is not self))
        super().__exit__(*exc)
        self._sample("end", None)
        self._owners.clear()  # no more is heard of arrays that live on


def _tensors(values: Iterable[Any]) -> list[Tensor]:
    """The tensors among values, and in lists of them."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            found += [t for t in value if isinstance(t, Tensor)]
    return found


def watched(function: Callable[[], Any], model: Module | None = None, optimizer: Optimizer | None = None) -> Step:
    """Run a step, and tell what it held."""
    peak = memory.counts().peak if memory.available else 0
    watch = Watch(model, optimizer)
    with watch:
        watch.step.result = function()
    after = memory.counts().peak if memory.available else 0
    watch.step.most = after if after > peak else 0
    return watch.step
