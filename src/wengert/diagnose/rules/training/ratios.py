"""How large the steps of an optimizer are, compared to its parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...findings import Finding
from ...record import ByIdentity
from ...rule import Rule
from .accumulation import INVARIANT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...places import Place
    from ...record import Made, Record, Step

#: How many parameters of an optimizer are looked at, and how many elements of each.
PARAMETERS, ELEMENTS = 16, 256
#: Above, and below, which the ratio of update to parameter is wrong, if the losses agree.
LARGE, SMALL = 0.5, 3e-7
#: A schedule that has made the learning rate this much smaller has ended the training.
FAINT = 1e-5


@dataclass
class Seen:
    """What detailed windows have seen of the steps of one optimizer, step by step."""

    made: Made
    where: Place | None
    ratios: list[float] = field(default_factory=list)
    unchanged: list[float] = field(default_factory=list)  # the share of elements with a gradient that stayed the same
    gradients: list[float] = field(default_factory=list)  # their size, compared to the parameters
    rates: list[tuple[float, ...]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    site: Any = None  # of the backward that gave the losses
    kind: str = ""
    scheduled: bool = False
    groups: dict[int, list[tuple[float, float, float]]] = field(default_factory=dict)  # the same of each group


class UpdateRatio(Rule):
    """``update-ratio``."""

    in_windows = ("step_ended",)

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.seen: dict[int, Seen] = {}
        self.grown: ByIdentity[bool] = ByIdentity()
        self.faint: dict[int, tuple[int, Step, float]] = {}  # by optimizer: such steps, the last, the largest rate
        self.tops: dict[int, float] = {}  # by optimizer, the largest rate
        self.before: list[tuple[Any, Any, Any, int]] = []  # views of parameters, what they were, and of gradients

    def step_begins(self, step: Step) -> None:
        group = step.optimizer.param_groups[0]
        if "initial_lr" in group and type(rate := group["lr"]) is float:  # there is a schedule
            top = self.tops[id(step.made)] = max(rate, self.tops.get(id(step.made), 0.0))
            if rate < FAINT * top:  # it has fallen; in a warm-up it has not risen yet
                count, _, _ = self.faint.get(id(step.made), (0, step, 0.0))
                self.faint[id(step.made)] = count + 1, step, top
        self.before = []
        if not step.detailed or step.closure:
            return
        rows = []
        for i, group in enumerate(step.optimizer.param_groups):
            for p in group["params"]:
                gradient = None if p._wg_meta is None else p._wg_meta.grad
                view, slope = (_sample(p), _sample(gradient)) if gradient is not None else (None, None)
                if view is None or slope is None or self.grown.get(p):
                    continue
                if not view.any():  # it starts at zero: at first its steps are as large as itself
                    self.grown.put(p, True)
                else:
                    rows.append((view, slope, i, p._wg_data.ndim))
        top = max((n for *_, n in rows), default=0)
        rows = [row for row in rows if row[3] >= min(top, 2)]  # of a model with weights, the weights
        for view, slope, i, _ in rows[:: len(rows) // PARAMETERS + 1]:
            if len(view) == len(slope):
                self.before.append((view, view.copy(), slope.copy(), i))

    def step_ended(self, step: Step) -> None:
        if not self.before:
            return
        seen = self.seen.setdefault(id(step.made), Seen(step.made, step.made.place or step.place))
        before, self.before = self.before, []
        found = _compared(before)
        if found is None:
            return
        groups = step.optimizer.param_groups
        seen.kind, seen.scheduled = type(step.optimizer).__name__, any("initial_lr" in g for g in groups)
        for values, value in zip((seen.ratios, seen.unchanged, seen.gradients), found):
            values.append(value)
        for i in range(len(groups)) if len(groups) > 1 else ():
            if (part := _compared([row for row in before if row[3] == i])) is not None:
                seen.groups.setdefault(i, []).append(part)
        seen.rates.append(tuple(float(g.get("lr", 1.0)) for g in groups))
        self._loss(seen, step)
        if (large := self._large(seen)) is not None:
            self.record.notes["large-update"] = large  # the cause of what overflows from here on

    def _loss(self, seen: Seen, step: Step) -> None:
        """Note the loss that the step was made for."""
        backward = next(reversed(self.record.backwards), None)
        if backward is not None and backward.loss is not None and seen.site in (None, backward.site):
            seen.site = backward.site
            seen.losses.append(backward.loss)

    def _large(self, seen: Seen) -> Finding | None:
        """The finding that the steps are too large: compared to the parameters, and by what they do to the loss."""
        if len(seen.losses) < 2 or not np.isfinite(seen.losses[0]) or max(seen.ratios[:3]) < LARGE:
            return None
        first, later = abs(seen.losses[0]), seen.losses[1:3]
        best = min((abs(v) if v == v else np.inf) for v in later)
        if any(v < seen.losses[0] <= 0 for v in later):  # it falls below zero, as it may
            return None
        if not (best > 1.5 * first or (best >= first and max(seen.ratios[:3]) > 6 * LARGE) or _wrecked(seen)):
            return None
        return Finding("update-ratio", seen.where, f"{seen.kind} with {_rates(seen.rates[0])} makes steps that are "
            f"{_times(max(seen.ratios[:3]))} as large as the parameters: each step overwrites what was learned.",
            "lower the learning rate until a step changes the parameters by about a thousandth", [], [
                "update / parameter, step by step: " + ", ".join(f"{r:.2g}" for r in seen.ratios[:4]),
                "loss, step by step: " + ", ".join(f"{v:.4g}" for v in seen.losses[:4])])

    def _small(self, seen: Seen) -> Finding | None:
        """The finding that the steps, or those of some groups, are too small to change anything, in every step that was
        seen, with rates that rise no more.
        """
        if len(seen.ratios) < 2 or len(set(map(len, seen.rates))) > 1:
            return None
        by_group = list(zip(*seen.rates))
        if any(row[-1] > max(row[:-1]) for row in by_group):
            return None
        rates = tuple(map(max, by_group))
        parts = list(zip(seen.ratios, seen.unchanged, seen.gradients))
        names: list[str] = []
        if not any(rates):
            text = f"{seen.kind} has {_rates(rates)}: its steps change nothing."
        else:
            optimizer = seen.made.object()
            if not _tiny(parts, rates, seen.kind):
                rows = [i for i, row in seen.groups.items() if rates[i] and _tiny(row, rates[i : i + 1], seen.kind)]
                if not rows or optimizer is None or len(rates) != len(optimizer.param_groups):
                    return None
                rates, parts = tuple(rates[i] for i in rows), seen.groups[rows[0]]
                names = [n for i in rows for n in map(self.record.name_of, optimizer.param_groups[i]["params"]) if n]
            ratios, unchanged, _ = zip(*parts)
            text = f"{seen.kind} with {_rates(rates)} makes steps of {max(ratios):.1g} of the parameters' size" + (
                f": {min(unchanged):.0%} of their elements stay the same, as the change is lost in rounding."
                if min(unchanged) > 0.5 else ", so that nothing is learned in any number of steps.")
        slopes = [slope for *_, slope in parts]
        few = self.record.step_count < 10 and seen.scheduled  # a warm-up, perhaps
        return Finding("update-ratio", seen.where, text, "raise the learning rate until a step changes the parameters "
            "by about a thousandth", names, [f"seen in {len(parts)} steps",
                f"gradient / parameter: {min(slopes):.2g} to {max(slopes):.2g}"], "info" if few else "")

    def ended(self) -> Iterable[Finding]:
        for count, step, start in self.faint.values():
            if count >= 3 and count > step.made.steps / 4:
                yield Finding("update-ratio", step.place, "The schedule has made the learning rate too small to "
                    f"learn: {count} of {step.made.steps} steps were made with less than {FAINT:g} of the largest "
                    f"rate, {start:g}.",
                    "let the rate decay more slowly: scheduler.step() once per epoch, not per batch, or a larger "
                    "step_size or gamma")
        for seen in self.seen.values():
            large = self._large(seen)
            if large is not None and self._stays(seen):
                yield large
            elif (small := self._small(seen)) is not None:
                yield small

    def _stays(self, seen: Seen) -> bool:
        """Whether the loss has not become smaller than it was at first, in the end."""
        if _wrecked(seen):
            return True
        last = [abs(b.loss) for b in self.record.backwards if b.site == seen.site and b.loss is not None][-5:]
        finite = [v for v in last if v == v]
        return not finite or float(np.median(finite)) > 0.7 * abs(seen.losses[0])


def _sample(t: Any) -> Any:
    """A view of some elements of a tensor of floating-point numbers."""
    data = t._wg_data
    if type(data) is not np.ndarray or data.dtype.kind not in "fV" or not data.size or not data.flags.c_contiguous:
        return None
    return data.reshape(-1)[:: data.size // ELEMENTS + 1]


def _compared(rows: list[tuple[Any, Any, Any, int]]) -> tuple[float, float, float] | None:
    """Of parameters before and after a step: the size of the step, compared to theirs; the share of elements with a
    gradient that stayed the same; the size of the gradients, compared to theirs. None if there is nothing to compare.
    """
    with np.errstate(all="ignore"):
        size = sum(float(np.square(old.astype(np.float64)).sum()) for _, old, *_ in rows)
        change = sum(float(np.square(now.astype(np.float64) - old.astype(np.float64)).sum()) for now, old, *_ in rows)
        slope = sum(float(np.square(g.astype(np.float64)).sum()) for *_, g, _ in rows)
        moved = sum(int((g != 0).sum()) for *_, g, _ in rows)
        same = sum(int(((now == old) & (g != 0)).sum()) for now, old, g, _ in rows)
    if not size or not moved:
        return None
    if change < 0.05**2 * sum(len(now) for now, *_ in rows):
        change = min(change, LARGE**2 * size / 2)  # small in itself, of parameters that began at zero
    return (change / size) ** 0.5, same / moved, (slope / size) ** 0.5


def _tiny(parts: list[tuple[float, float, float]], rates: tuple[float, ...], kind: str) -> bool:
    """Whether steps change nothing although there are gradients."""
    ratios, unchanged, slopes = zip(*parts)
    if len(parts) < 2 or max(rates) > 1e-3 or not (min(unchanged) > 0.95 or max(ratios) < SMALL):
        return False
    return max(slopes) >= 1e-5 or kind in INVARIANT  # otherwise it is the gradient that is small


def _wrecked(seen: Seen) -> bool:
    """Whether a step was so large that it threw away everything: the loss jumped with it."""
    losses = [abs(v) for v in seen.losses[:3] if v == v]
    return max(seen.ratios[:3]) > 20 * LARGE and len(losses) > 1 and max(losses[1:]) > 1e3 * losses[0]


def _rates(rates: tuple[float, ...]) -> str:
    return "a learning rate of " + ", ".join(sorted({f"{r:g}" for r in rates}))


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:.0f} times"
