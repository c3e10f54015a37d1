"""What a block may keep: between all that it would save and its output alone, the sets of results that are worth it.

Operations are dropped one by one, that first whose recomputation costs the least time for a byte. Of the sets on the
way those are taken that no mixture of others is better than.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arrays.random.masks import Masks
from ..graph.modes import no_grad
from .execute import ALL, Run, _needed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .chain import Operation as Step
    from .execute import Recorder
    from .measure import Bench
    from .segments import Segment
    from .trace import Operation, Program

    Ways = list[list[list[str] | None]]

MOST = 3  # options beside "all"
RUNS = 4  # in which operations are timed


def ways_of(program: Program, segments: Sequence[Segment], bench: Bench, tensors: Sequence[Any], schedule: list[Step],
        fixed: set[int], times: dict[str, float]) -> Ways:
    """For each block its options. ``times``: the seconds of operations that run again."""
    with bench.state():
        run = Run(program, segments, [[ALL] for _ in segments], schedule, fixed)
        output = run.forward(tensors)
        recorders = dict(run.recorders)
        del output, run
    return [[ALL, *_sets(segment, recorders[i], times)] if i in recorders else [ALL] for i, segment in
        enumerate(segments)]


def times_of(program: Program, bench: Bench, tensors: Sequence[Any], masked: Iterable[str],
        clock: Callable[[], float]) -> tuple[dict[str, float], dict[str, float]]:
    """The seconds of each operation that runs again, the least of some runs; and what drawing masks took before."""
    found: dict[str, float] = {}
    first: dict[str, float] = {}

    def timed(rows: dict[str, float], op: Operation, env: dict[str, Any]) -> Any:
        begin = clock()
        value = op.run(env)
        taken = clock() - begin
        rows[op.name] = min(taken, rows.get(op.name, taken))
        return value

    for _ in range(RUNS):
        with bench.state(), no_grad():
            env = dict(zip(program.inputs, tensors))
            for op, last in zip(program.operations, program.last_uses()):
                masks = Masks()
                if op.name in masked:
                    with masks:
                        timed(first, op, env)
                with masks:
                    env[op.name] = timed(found, op, env)
                for name in last:
                    del env[name]
    return found, {name: max(0.0, first[name] - found[name]) for name in first}


def _sets(segment: Segment, recorder: Recorder, times: dict[str, float]) -> list[list[str]]:
    """The sets of operations whose results (and what else they save) are kept."""
    saves: dict[str, int] = {}
    changing = recorder.unread  # bytes that only a block which keeps all keeps
    for op in segment.operations:
        held = recorder.sizes.get(op.name, 0)
        result = 0 if op.name in segment.outputs else recorder.sizes.get(f"={op.name}", 0)
        if op.name in segment.changing:
            changing += result
        else:
            held += result
        if held or f"={op.name}" in recorder.sizes:
            saves[op.name] = held
    own = {op.name: at for at, op in enumerate(segment.operations) if op.name in recorder.sizes}
    named = {name[1:] for name in recorder.sizes if name.startswith("=")}

    def cost(keep: set[str]) -> float:
        wanted = {name for name in saves if name in named and (name not in keep or name in segment.changing)}
        dropped = {at for name, at in own.items() if name not in keep}
        runs = _needed(segment, wanted, dropped, keep - segment.changing | set(segment.inputs))
        return sum(times[op.name] for op, n in zip(segment.operations, runs) if n)

    keep = set(saves)
    whole = sum(saves.values())
    found = [(whole + changing, 0.0, list[str]())] if changing else []  # all, which the first is if nothing changes
    found.append((whole, cost(keep), sorted(keep)))
    while any(saves[name] for name in keep):
        now = found[-1][1]
        choices = [(max(0.0, cost(keep - {name}) - now) / saves[name], name) for name in keep if saves[name]]
        name = min(choices)[1]
        keep.remove(name)
        found.append((sum(saves[n] for n in keep), cost(keep), sorted(keep)))
    return _hull(found)


def _hull(found: list[tuple[int, float, list[str]]]) -> list[list[str]]:
    """The sets between the first and the last that no mixture of two others is better than."""
    corners: list[tuple[int, float, list[str]]] = []
    for point in found:
        while len(corners) > 1 and _above(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    inner = corners[1:-1]
    if len(inner) > MOST:  # those that are apart: at equal parts of the bytes
        whole = found[0][0]
        wanted = [whole * (MOST - k) / (MOST + 1) for k in range(MOST)]
        inner = list({id(p): p for p in (min(inner, key=lambda p, w=w: abs(p[0] - w))  # type: ignore[misc]
            for w in wanted)}.values())
    return [names for _, _, names in inner]


def _above(a: tuple[int, float, Any], b: tuple[int, float, Any], c: tuple[int, float, Any]) -> bool:
    """Whether ``b`` lies above the line from ``a`` to ``c``: fewer bytes to the right."""
    return (b[1] - a[1]) * (a[0] - c[0]) >= (c[1] - a[1]) * (a[0] - b[0])
