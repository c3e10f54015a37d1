"""Gradients of several micro-batches in one step: whether they are scaled as those of one batch would be."""

from __future__ import annotations

import weakref
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....amp.grad_scaler import OptState
from ....tensor import Tensor
from ...findings import Finding
from ...places import place
from ...rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ....graph.interceptors import Call
    from ...places import Site
    from ...record import Backward, Event, Gradient, Made, Record, Step

_SCALING = frozenset(("mul", "mul_", "div", "div_", "multiply", "divide", "true_divide", "_foreach_mul_",
    "_foreach_div_"))
_REDUCTIONS = frozenset(("mean", "sum", "batchmean"))
#: Optimizers whose steps hardly depend on the size of the gradient.
INVARIANT = ("Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "Rprop", "SparseAdam",
    "Muon", "Adafactor")
#: How many events of a loss are looked at.
FAR = 200
#: How many windows are asked for.
ASKED = 6


@dataclass
class Group:
    """What one step has accumulated: ``count`` gradients of one ``backward()``. ``scaled``: whether they are those of
    one batch; None if that is not known. ``by``: what the loss was divided by instead. ``sure``: whether they come from
    micro-batches, beyond doubt. ``twice``: the step, if the gradients were scaled besides.
    """

    count: int
    scaled: bool | None
    by: int
    sure: bool
    twice: Site | None = None


class Accumulation(Rule):
    """``accumulation-scale``."""

    in_windows = ("backward_begins",)

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.factors: dict[int, float] = {}  # by the number of an event: what it multiplies by
        self.reductions: dict[int, str] = {}
        self.constants: list[float] = []  # factors of tensors without a history since the last backward
        self.on_gradients: list[tuple[weakref.ref[Any], float]] = []  # scaled since the last backward
        self.groups: dict[tuple[int, Any], list[Group]] = {}
        self.made: dict[int, Made] = {}
        self.clips: dict[Any, tuple[int, int]] = {}  # by site: the first backward of the accumulation, how many by then
        self.said: set[Any] = set()
        self.asked = 0  # for how many windows

    # -- what scales --------------------------------------------------------------------------------------------------

    def called(self, event: Event, call: Call, result: Any) -> None:
        if call.name in _SCALING and len(call.args) > 1:
            factor = next((f for f in map(_number, reversed(call.args)) if f), None)
            if factor is not None:
                factor = 1 / factor if "div" in call.name else factor
                self.factors[event.number] = factor
                if not event.recorded:
                    self.constants.append(factor)
                    self._scaled(result, factor)
        elif event.recorded and event.shape == ():
            for v in (*call.args, *call.kwargs.values()):
                if type(v) is str and v in _REDUCTIONS:
                    self.reductions[event.number] = v

    def _scaled(self, result: Any, factor: float) -> None:
        for t in result if isinstance(result, (list, tuple)) else (result,):
            if isinstance(t, Tensor):
                self.on_gradients.append((weakref.ref(t), factor))

    def backward_begins(self, backward: Backward) -> None:
        self.constants.clear()
        self.on_gradients.clear()

    def window_ended(self) -> Iterable[Finding]:
        yield from self._judged()
        self.factors.clear()
        self.reductions.clear()

    def ended(self) -> Iterable[Finding]:
        return self._judged()

    # -- what a step has accumulated ----------------------------------------------------------------------------------

    def step_begins(self, step: Step) -> Iterable[Finding] | None:
        if step.plain and not self.groups and self.record.scaler is None:
            facts = step.held[0][0] if step.held else None  # in every step: as quick as can be
            if facts is not None and len(facts.filled) > 1:
                self._look_closer(step, facts)
            return None
        facts = self._longest(step)
        if facts is None:
            return None
        found: Iterable[Finding] | None = self._still_scaled(step.optimizer, facts, step.site, "step() uses")
        if found is None and step.detailed and len(facts.filled) > 1 and not facts.carried and not step.closure:
            self._accumulated(step, facts)
        elif found is None and not step.detailed:
            if self.groups:
                found = self._incomplete(step, facts)
            self._look_closer(step, facts)
        return found

    def _look_closer(self, step: Step, facts: Gradient) -> None:
        """Ask for a window if a step accumulates as no step has that was seen in one."""
        count = len(facts.filled)
        if count < 2 or facts.carried or self.asked >= ASKED:
            return
        known = [g.count for (key, _), groups in self.groups.items() if key == id(step.made) for g in groups]
        if known.count(count) < 2:
            self.asked += 1
            self.record.curious = True

    def _longest(self, step: Step) -> Gradient | None:
        """The facts of the parameter with the most gradients: in light steps, of the first one that has any."""
        found: Gradient | None = None
        for facts, _ in step.held:
            if facts is not None and facts.filled and (found is None or len(facts.filled) > len(found.filled)):
                found = facts
                if not step.detailed:
                    return found
        return found

    def _accumulated(self, step: Step, facts: Gradient) -> None:
        numbers = set(facts.filled)
        rows = [b for b in self.record.backwards if b.number in numbers and b.detailed]
        if len(rows) != len(numbers):
            return
        site, count = Counter(b.site for b in rows).most_common(1)[0]
        rows = [b for b in rows if b.site == site]
        if count < 2 or any(b.leaves != rows[0].leaves or not b.root for b in rows):
            return
        losses = [self._loss(b) for b in rows]
        self.made[id(step.made)] = step.made
        group = self._group(rows, losses, count)
        if group.by == count and self._scaled_again(step, count):
            group.twice = step.site
        self.groups.setdefault((id(step.made), site), []).append(group)

    def _scaled_again(self, step: Step, count: int) -> bool:
        """Whether the gradients of a step were divided by ``count`` after the last backward."""
        scaled = {id(ref()) for ref, factor in self.on_gradients if abs(factor * count - 1) < 0.01}
        return any(id(p._wg_meta.grad) in scaled for group in step.optimizer.param_groups for p in group["params"]
            if p._wg_meta is not None and p._wg_meta.grad is not None)

    def _group(self, rows: list[Backward], losses: list[tuple[str, list[float], bool, list[str]]], count: int) -> Group:
        reductions = {reduction for reduction, *_ in losses}
        factors = [f for _, row, *_ in losses for f in row]
        given = any(b.options.get("gradient") or b.options.get("grad_tensors") for b in rows)
        products = [_product(row) for _, row, *_ in losses]
        by = _divisor(self._tail(rows[0]))
        alike = all(names == losses[0][3] for *_, names in losses)
        plain = not any(cut for _, _, cut, _ in losses) and not any(b.options.get("retain_graph") for b in rows)
        scaled: bool | None = None
        if any(abs(f * count - 1) < 0.01 for f in (*factors, *products, *self.constants)):
            scaled = True
        elif reductions <= {"mean", "batchmean"} and not given and "" not in reductions:
            scaled = False if by or not self._tail(rows[0]) else None
        return Group(count, scaled, by, alike and plain and count > 2)

    def _loss(self, backward: Backward) -> tuple[str, list[float], bool, list[str]]:
        """How the loss of a backward was reduced, the factors on its way, whether it comes from a value that was cut,
        and the names of what it is made of.
        """
        reduction, factors, cut, names = "", [], False, []
        todo = list(backward.root)
        seen: set[int] = set()
        while todo and len(seen) < FAR:
            event = todo.pop(0)
            if id(event) in seen:
                continue
            seen.add(id(event))
            names.append(event.name)
            cut = cut or event.kind == "cut"
            factor = self.factors.get(event.number)
            if factor is not None and (event.shape == () or not reduction):
                factors.append(factor)
            kind = self.reductions.get(event.number) or (event.name if event.name in ("mean", "sum") else "")
            if kind and event.shape == () and not reduction:
                reduction = self._kind(event, kind, factors)
            todo += event.inputs
        return reduction, factors, cut, names

    def _tail(self, backward: Backward) -> list[float]:
        """The factors between the loss as it was reduced and the root."""
        found: list[float] = []
        event = backward.root[0]
        while event.number not in self.reductions and event.name not in ("mean", "sum"):
            before = [e for e in event.inputs if e.recorded]
            if len(before) != 1:
                break
            if (factor := self.factors.get(event.number)) is not None:
                found.append(factor)
            event = before[0]
        self._kind(event, self.reductions.get(event.number, event.name), found)
        return found

    def _kind(self, event: Event, kind: str, factors: list[float]) -> str:
        """``kind``; a sum that is divided by the number of its elements or rows is a mean."""
        if kind != "sum" or not event.inputs:
            return kind
        shape = event.inputs[0].shape
        sizes = {shape[0], _product(shape)} if shape else set()
        for f in factors:
            if any(abs(f * n - 1) < 1e-3 for n in sizes):
                factors.remove(f)
                return "mean"
        return "sum"

    def _judged(self) -> Iterator[Finding]:
        for (key, site), groups in self.groups.items():
            twice = groups[-1].twice
            if len(groups) > 1 and twice is not None and twice not in self.said and all(g.twice for g in groups):
                self.said.update((site, twice))
                count, name = groups[-1].count, type(self.made[key].object()).__name__
                yield Finding("accumulation-scale", place(twice), f"The gradients of {count} micro-batches are scaled "
                    f"twice: the loss is divided by {count}, and then their sum is, so that the step is {count} times "
                    "too small.", f"divide once: the loss, before the backward() at {place(site)}, or .grad after it",
                    [], [], "info" if name in INVARIANT else "")
            if site in self.said or len(groups) < 2 or any(g.scaled is not False for g in groups):
                continue
            count, by = groups[0].count, groups[0].by
            optimizer = self.made[key].object()
            if any((g.count, g.by) != (count, by) for g in groups) or optimizer is None or by == 1:
                continue
            self.said.add(site)
            name = type(optimizer).__name__
            sure = all(g.sure for g in groups) and name not in INVARIANT and not by
            if by:
                text = f"although it is divided by {by}, so that their sum is {count / by:.2g} times the mean."
            else:
                text = f"which is not divided by {count}: their sum is {count} times the gradient of one whole batch."
            evidence = [f"{name}.step() was made after {count} calls of this backward(), {len(groups)} times in a row"]
            if name in INVARIANT:
                evidence.append(f"{name} makes up for most of it, but clipping and weight decay in the loss do not")
            yield Finding("accumulation-scale", place(site), f"Every step adds up the gradients of {count} "
                f"micro-batches of a mean loss, {text}", f"(loss / {count}).backward(), or reduction=\"sum\" and a "
                "division by the size of the whole batch", [], evidence, "" if sure else "info")

    def _incomplete(self, step: Step, facts: Gradient) -> Iterable[Finding] | None:
        """A step with more gradients than it usually has, or after some were cleared unused."""
        mine = (groups for (key, _), groups in self.groups.items() if key == id(step.made))
        usual = {g.count for groups in mine for g in groups if g.scaled}
        if len(usual) != 1 or step.site in self.said or facts.carried:
            return None
        count, found = usual.pop(), len(facts.filled)
        lost = len(facts.wasted) if facts.wasted and facts.wasted[-1] > step.made.backwards else 0
        if found > count:
            text = (f"This step has the gradients of {found} micro-batches, each scaled as one of {count}: the last "
                "ones before were left over, and carried into it.")
        elif lost and found == count:
            text = (f"The gradients of {lost} micro-batches were cleared before a step had used them: the last, "
                f"incomplete accumulation of {count} is dropped.")
        else:
            return None
        self.said.add(step.site)
        return [Finding("accumulation-scale", step.place, text, "make a step for the rest, too: if (i + 1) % k == 0 or "
            "i + 1 == len(loader)", [], [], "info")]

    # -- clipping, and scaled losses ----------------------------------------------------------------------------------

    def clipped(self, parameters: list[Any], site: Site | None) -> Iterable[Finding] | None:
        rows = (self.record.gradients.get(p) for p in parameters)
        facts = next((f for f in rows if f is not None and f.filled), None)
        if facts is None or facts.carried or site in self.said:
            return None
        for made in self.record.optimizers:
            optimizer = made.object()
            held = () if optimizer is None else (p for g in optimizer.param_groups for p in g["params"])
            if any(p is q for p in held for q in parameters[:1]):
                found = self._still_scaled(optimizer, facts, site, "The gradients are clipped, but these are")
                if found is not None:
                    return found
        first, before = self.clips.get(site, (0, 0))
        self.clips[site] = facts.filled[0], len(facts.filled)
        if first != facts.filled[0] or before >= len(facts.filled):
            return None
        self.said.add(site)
        return [Finding("accumulation-scale", place(site), "The gradients are clipped after every micro-batch of an "
            f"accumulation: those of the first ones are scaled down again and again ({len(facts.filled)} times by "
            "now), and the last ones count most.", "clip once, right before step()")]

    def _still_scaled(self, optimizer: Any, facts: Gradient, site: Site | None, what: str) -> list[Finding] | None:
        """Whether a GradScaler's factor is still in the gradients."""
        scaler = None if self.record.scaler is None else self.record.scaler[0]()
        if scaler is None or not scaler.is_enabled() or site in self.said or self.record.scaler is None:
            return None
        progress, scale = scaler._progress.get(id(optimizer)), scaler.get_scale()
        if scale == 1 or (progress is not None and progress.stage is OptState.UNSCALED) or (
                self.record.scaler[1] + 1 not in facts.filled):
            return None
        self.said.add(site)
        return [Finding("accumulation-scale", place(site), f"{what} gradients that are still multiplied by the "
            f"GradScaler's factor, {scale:g}.", "call scaler.unscale_(optimizer) first, and scaler.step(optimizer) "
            "instead of optimizer.step()")]


def _number(v: Any) -> float | None:
    """A number, or the value of a tensor of one element without a history."""
    if type(v) in (int, float):
        return float(v)
    if isinstance(v, Tensor) and v._wg_edge is None and getattr(v._wg_data, "size", 0) == 1 and (
            v._wg_meta is None or not v._wg_meta.requires_grad):
        try:
            return float(v._wg_data)
        except (TypeError, ValueError):
            return None
    return None


def _divisor(factors: list[float]) -> int:
    """The whole number that a loss is divided by; 0 without."""
    return next((round(1 / f) for f in factors if 0 < f < 1 and abs(1 / f - round(1 / f)) < 1e-3), 0)


def _product(values: Iterable[float]) -> float:
    found = 1.0
    for v in values:
        found *= v
    return found
