"""The chain of a model, measured: steps are run in different ways, and bytes and seconds noted between blocks.

One way saves everything, as without a plan. In another no block saves, and each is recomputed before its backward. In
the others blocks keep some operations' results. Bytes are those of the last step. The seconds of a block are the least
of all steps, times what the median step without a plan takes more than the quickest.
"""

from __future__ import annotations

import gc
import math
import time
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from ..arrays import memory
from ..graph.modes import enable_grad
from ..tensor import Tensor
from .chain import Block, Chain, Option
from .execute import ALL, Run
from .planned import constants
from .selection import times_of, ways_of
from .trace import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..nn import Module
    from .chain import Operation as Step
    from .segments import Facts, Segment
    from .selection import Ways
    from .trace import Program

LOSS = -1  # as a block: the loss
clock = time.perf_counter


class Span(NamedTuple):
    """Something that took a time: seconds, the bytes held before, the most, and those held after."""

    time: float
    before: int
    most: int
    after: int


class Probe:
    """Notes the time and the bytes that are held when it is called."""

    def __init__(self) -> None:
        self.events: list[tuple[str, int, float, int, int]] = []

    def __call__(self, what: str, block: int) -> None:
        counts = memory.counts()
        self.events.append((what, block, clock(), counts.current, counts.peak))
        memory.reset_peak()

    def spans(self) -> dict[tuple[str, int], Span]:
        """What was between: ``first`` forwards, ``loss``, ``loss walk``; of backwards what is done before them
        (``backward``), and the ``walk``.
        """
        found: dict[tuple[str, int], Span] = {}
        for (what, block, begin, before, _), (then, other, end, after, most) in zip(self.events, self.events[1:]):
            if then in ("until", "end"):
                if what not in ("loss", "backward"):
                    continue  # between two entries of the schedule
                key = ("loss walk" if what == "loss" else "walk"), block
            else:
                key = then, other
            found[key] = Span(end - begin, before, most, after)
        return found


class Bench:
    """A model and a loss, and steps of them from the same state."""

    def __init__(self, model: Module, loss: Callable[[Any], Any] | None) -> None:
        self.model, self.loss = model, loss
        self._grads = [(p, p.grad) for p in model.parameters()]
        self._before = State(model)

    @contextmanager
    def state(self) -> Iterator[None]:
        """Inside, gradients begin as None; afterwards gradients, buffers and random numbers are what they were."""
        for p, _ in self._grads:
            p.grad = None
        collecting = gc.isenabled()
        gc.disable()
        try:
            with enable_grad():
                yield
        finally:
            if collecting:
                gc.enable()
            self._before.restore()
            for p, grad in self._grads:
                p.grad = grad

    def scalar(self, output: Any) -> Any:
        """The loss of an output."""
        value = output if self.loss is None else self.loss(output)
        if not isinstance(value, Tensor):
            raise TypeError(f"the loss of this model is not known, as its output is a {type(value).__name__}: give "
                "plan() a loss=, a function of the output")
        return value if value.numel() == 1 else value.sum()

    def step(self, forward: Callable[[], Any], probe: Probe) -> None:
        """Forward, loss, backward."""
        with self.state():
            probe("begin", LOSS)
            output = forward()
            probe("output", LOSS)
            loss = self.scalar(output)
            probe("loss", LOSS)
            loss.backward()
            probe("end", LOSS)


class Measured:
    """The spans of several steps that were run in the same way."""

    def __init__(self, rows: list[dict[tuple[str, int], Span]]) -> None:
        self.rows, self.scale = rows, 1.0

    def time(self, block: int, *kinds: str) -> float:
        """Seconds."""
        return self.scale * sum(self.least(kind, block) for kind in kinds)

    def least(self, kind: str, block: int) -> float:
        """The seconds of the quickest."""
        return min(row[kind, block].time if (kind, block) in row else 0.0 for row in self.rows)

    def ratio(self) -> float:
        """The time of the quickest step in that of the quickest parts."""
        quick = sum(self.least(*key) for key in self.rows[0])
        return min(sum(span.time for span in row.values()) for row in self.rows) / quick if quick else 1.0

    def span(self, block: int, kind: str) -> Span:
        """Bytes."""
        return self.rows[-1].get((kind, block)) or Span(0.0, 0, 0, 0)


def measure(program: Program, segments: Sequence[Segment], bench: Bench, tensors: Sequence[Any], facts: Facts,
        repeats: int, selective: bool, tick: Callable[[], None], run_plain: Callable[[], Any]) -> tuple[Chain, Ways,
        dict[str, float]]:
    """The chain; for each block its options: names of what is kept, None for all; time and peak of ``run_plain``."""
    memory.counts()  # refused here where nobody counts
    n, count = len(segments), max(1, repeats)
    fixed = constants(bench.model)
    everything: Ways = [[ALL] for _ in range(n)]

    def steps(ways: Ways, schedule: list[Step], count: int) -> Measured:
        rows = []
        for _ in range(count):
            probe = Probe()
            run = Run(program, segments, ways, schedule, fixed, probe)
            bench.step(lambda run=run: run.forward(tensors), probe)  # type: ignore[misc]
            del run
            rows.append(probe.spans())
            tick()
        return Measured(rows)

    again = _recomputed(segments)
    steps(everything, _kept([0] * n), 1)
    times, draws = times_of(program, bench, tensors, facts.masked, clock)
    ways = ways_of(program, segments, bench, tensors, again, fixed, times) if selective else everything
    found = [steps(ways, _kept([min(k, len(rows) - 1) for rows in ways]), count)
        for k in range(max(len(rows) for rows in ways))]
    recomputed = steps(everything, again, count)
    unplanned = []
    for _ in range(count):
        probe = Probe()
        bench.step(run_plain, probe)
        unplanned.append((probe.events[-1][2] - probe.events[0][2], max(e[4] for e in probe.events[1:])
            - probe.events[0][3]))
        tick()
    plain = {"time": median(t for t, _ in unplanned), "peak": unplanned[-1][1]}
    usual = plain["time"] / min(t for t, _ in unplanned)  # what the median takes more than the quickest
    for way in (*found, recomputed):
        way.scale = found[0].ratio() * usual
    return _Builder(segments, facts, ways, found, recomputed, draws).chain(), ways, plain


def _kept(options: list[int]) -> list[Step]:
    """Every block saves, in this option."""
    n = len(options)
    forward: list[Step] = [("forward", i, o) for i, o in enumerate(options)]
    return [*forward, ("forward", n, 0), *(("backward", i, None) for i in range(n, -1, -1))]


def _recomputed(segments: Sequence[Segment]) -> list[Step]:
    """No block saves that can run again; outputs are kept."""
    n = len(segments)
    schedule: list[Step] = [("forward", i, 0 if s.once else None) for i, s in enumerate(segments)]
    schedule += [("forward", n, 0), ("backward", n, None)]
    for i in range(n - 1, -1, -1):
        if not segments[i].once:
            schedule.append(("forward", i, 0))
        schedule.append(("backward", i, None))
    return schedule


class _Builder:
    """Makes blocks of what was measured. ``found``: by option; ``again``: where blocks are recomputed."""

    def __init__(self, segments: Sequence[Segment], facts: Facts, ways: Ways, found: list[Measured],
            again: Measured, draws: dict[str, float]) -> None:
        self.segments, self.ways, self.found, self.again = segments, ways, found, again
        ends = [segment.end for segment in segments]
        self.gradient = [facts.gradient[end] for end in ends]
        loss, walk = self.found[0].span(LOSS, "loss"), self.found[0].span(LOSS, "loss walk")
        # of what the model gives the loss may use a part
        self.gradient[-1] = min(facts.output_gradient, max(0, walk.after - walk.before + loss.after - loss.before))
        # what is alive over whole blocks stays until the backward of the block that made it, and is part of no output
        self.skips = facts.skips(ends)
        for i, segment in enumerate(segments):
            self.skips[i] += sum(facts.masked.get(name, 0) for name in segment.masked)
        self.early = facts.early(ends)
        # Drawing masks is done once, in the first forward. It is counted with the backward, which runs once too.
        self.draws = [sum(draws.get(name, 0.0) for name in segment.masked) for segment in segments]

    def chain(self) -> Chain:
        """The chain."""
        return Chain([*(self._block(i) for i in range(len(self.segments))), self._loss()])

    def _block(self, i: int) -> Block:
        segment, plain, first = self.segments[i], self.found[0], self.again.span(i, "first")
        output = first.after - first.before - self.skips[i]
        taken = self.gradient[i - 1] if i else 0
        saves = plain.span(i, "first")
        gradients = (plain.span(i, "walk").after - plain.span(i, "backward").before + saves.after - saves.before
            + self.gradient[i] - taken)
        options = [self._option(i, o, taken + gradients) for o in range(len(self.ways[i]))]
        time = math.inf if segment.once else self._undrawn(i, self.again.time(i, "first"))
        return Block(segment.name, output, time, options,
            forward_temp=self._temporary(i, first, output), gradients=gradients, output_gradient=self.gradient[i],
            note=segment.note, passing=self.early[i])

    def _undrawn(self, i: int, forward: float) -> float:
        """The seconds of a forward whose masks are there."""
        return max(0.0, forward - self.draws[i])

    def _temporary(self, i: int, forward: Span, kept: int) -> int:
        """The bytes that a forward holds beside what it keeps. Skips of other blocks are there when it runs again."""
        return forward.most - forward.before - kept + sum(self.skips) - self.skips[i]

    def _option(self, i: int, o: int, left: int) -> Option:
        """``left``: the bytes of gradients that the backward leaves."""
        found, keep = self.found[o], self.ways[i][o]
        forward, fill, walk = (found.span(i, kind) for kind in ("first", "backward", "walk"))
        saved = forward.after - forward.before - self.skips[i]
        temp = self._temporary(i, forward, saved)
        backward, recompute = found.time(i, "backward", "walk"), None
        if o:  # it can take no less than what recomputes nothing
            whole = self.found[0].time(i, "first", "backward", "walk")
            backward = max(backward, whole * 1.001 - found.time(i, "first"))
        if not self.segments[i].once:
            # Just before its backward a block computes all that is missing, whatever the option. That may be less than
            # a block saves that keeps all: what a plain backward does not look at. Then another option describes it.
            again, whole_block = self.again.span(i, "backward"), self.found[0].span(i, "first")
            less = again.after - again.before <= saved < whole_block.after - whole_block.before - self.skips[i]
            recompute = max(0.0, self.again.time(i, "backward", "walk") - backward) if keep is ALL or less else math.inf
            if keep is ALL:
                temp = max(temp, self._temporary(i, self.again.span(i, "backward"), saved))
        time = found.time(i, "first")
        backward += time - self._undrawn(i, time)
        return Option(saved, self._undrawn(i, time), backward, recompute, temp,
            max(fill.most, walk.most) - fill.before - left + sum(self.skips[: i + 1]),
            name="all" if keep is ALL else f"{len(keep)} results")

    def _loss(self) -> Block:
        plain = self.found[0]
        forward, walk = plain.span(LOSS, "loss"), plain.span(LOSS, "loss walk")
        saved, taken = forward.after - forward.before, self.gradient[-1]
        gradients = walk.after - walk.before + saved - taken
        time = plain.time(LOSS, "loss")
        temp = forward.most - forward.before - saved
        temp += sum(self.skips)
        more = walk.most - walk.before - taken - gradients + sum(self.skips)
        option = Option(saved, time, plain.time(LOSS, "loss walk"), None, temp, more, name="all")
        return Block("loss", saved, time, [option], temp, gradients, 0)
