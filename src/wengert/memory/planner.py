"""``plan``: measure a model's blocks, find the fastest schedule for a budget, and give a module that follows it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.modes import no_grad
from ..nn import Module
from ..utils.checkpoint.state import RandomState
from .measure import Bench, measure
from .plan import budget_bytes, fitted
from .planned import PlannedModule, modes_of
from .segments import cuts, layout, observe, same_random, split
from .trace import Call, UntraceableError, trace, whole
from .values import tensors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .segments import Facts
    from .trace import Program


def plan(model: Module, sample: Any, budget: float | str, *, loss: Callable[[Any], Any] | None = None,
        blocks: Sequence[str | Module] | None = None, selective: bool = True, repeats: int = 5,
        progress: bool | None = None) -> PlannedModule:
    """``model``, run so that a training step holds at most ``budget`` bytes and takes the least time for that.

    The model is run on ``sample`` some times: the bytes and seconds of its blocks are measured. What a block saves for
    its backward is kept, or dropped and computed again, or some of it, as the fastest schedule has it. Losses and
    buffers are the same as without a plan, and so are gradients.

    Args:
        sample: a tensor, a tuple of arguments, or a dictionary of keyword arguments.
        budget: bytes (an int), a text such as ``"200MB"`` or ``"200MiB"``, or a part of what the step holds without a
            plan (a float up to 1). What counts is what a step adds to what is held before: activations, gradients,
            temporary values.
        loss: a function of the output that gives the loss; without it the sum of the output.
        blocks: modules (or their names) that are one operation each; the forwards of others that are not of ``nn`` are
            looked into.
        selective: whether blocks may keep some operations' results and recompute others.
        repeats: steps of each kind that are timed.
        progress: whether a bar is shown; by default on a terminal.

    Raises:
        BudgetError: if no schedule fits; ``least`` says what would.

    >>> import wengert as torch
    >>> from wengert import nn
    >>> from wengert.utils.checkpoint import plan
    >>> model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(8)])
    >>> x = torch.randn(2048, 64)
    >>> planned = plan(model, x, 0.6, loss=lambda y: (y ** 2).mean(), repeats=1, progress=False)
    >>> (planned(x) ** 2).mean().backward()
    >>> planned.plan.peak <= planned.plan.budget < planned.plan.plain_peak
    True
    """
    args, kwargs = _arguments(sample)
    call = Call(args, kwargs)
    bench = Bench(model, loss)
    bar = Bar(progress, 2 + 6 * max(1, repeats))
    try:
        program, facts, form = _program(model, call, bench, blocks)
        bar.tick()
        segments = split(program, model, form)
        chain, ways, plain = measure(program, segments, bench, call.tensors, facts, repeats, selective, bar.tick,
            lambda: model(*args, **kwargs))
    finally:
        bar.end()
    form |= {"ways": ways, "training": modes_of(model), "plain": plain}
    planned = PlannedModule(model, fitted(chain, budget_bytes(budget, int(plain["peak"])), layout=form))
    planned.learn(call, program, segments)
    return planned


def _arguments(sample: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(sample, dict):
        return (), sample
    return (tuple(sample) if isinstance(sample, (tuple, list)) else (sample,)), {}


def _program(model: Module, call: Call, bench: Bench, blocks: Sequence[str | Module] | None) -> tuple[
        Program, Facts, dict[str, Any]]:
    """The program, which gives what the model gives; what it does; how it is cut."""
    paths = {m: name for name, m in model.named_modules()}
    names = [paths.get(b, "") if isinstance(b, Module) else b for b in blocks or ()]
    if unknown := [name for name in names if name not in paths.values() or not name]:
        raise ValueError(f"blocks: the model has no module {unknown[0]!r}")
    why = None
    try:
        with bench.state():
            program, traced = trace(model, call, blocks=names)
        why = _differs(model, program, call, bench) if program.operations else "it consists of nothing"
    except UntraceableError as error:
        why = str(error)
    if why is not None:
        program = whole(model, call)
        traced = {"leaves": [], "blocks": names, "names": ["model"]}
    with bench.state():
        facts = observe(program, model, call.tensors)
        form = layout(program, model, facts, cuts(facts))
    return program, facts, form | traced | {"whole": why}


def _differs(model: Module, program: Program, call: Call, bench: Bench) -> str | None:
    """Why a program is not the model: it gives something else, or draws other random numbers."""
    found = []
    for run in (lambda: _run(program, call), lambda: (lambda a: model(*a[0], **a[1]))(call.filled(call.tensors))):
        with bench.state(), no_grad():
            value = run()
            found.append(([t.detach().clone() for t in (*tensors_of(value), *model.buffers())], RandomState()))
    (mine, after), (theirs, then) = found
    if not same_random(after, then):
        return "random numbers are drawn where they cannot be followed"
    if len(mine) != len(theirs) or not all(a.shape == b.shape and np.array_equal(a._wg_data, b._wg_data, equal_nan=True)
            for a, b in zip(mine, theirs)):
        return "its forward depends on what cannot be followed"
    return None


def _run(program: Program, call: Call) -> Any:
    env = dict(zip(program.inputs, call.tensors))
    for op, last in zip(program.operations, program.last_uses()):
        env[op.name] = op.run(env)
        for name in last:
            del env[name]
    return program.result(env)


class Bar:
    """A line that shows how much has been done, and how long the rest will take."""

    def __init__(self, shown: bool | None, whole: int) -> None:
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._whole, self._done, self._begin = whole, 0, time.perf_counter()

    def tick(self) -> None:
        """One more is done."""
        self._done += 1
        if self._shown:
            part = min(1.0, self._done / self._whole)
            rest = (time.perf_counter() - self._begin) * (1 - part) / part
            full = int(24 * part)
            sys.stderr.write(f"\rmeasuring [{'#' * full}{'.' * (24 - full)}] {100 * part:3.0f}%, {rest:.0f} s left ")
            sys.stderr.flush()

    def end(self) -> None:
        """The line ends."""
        if self._shown:
            sys.stderr.write("\n")
