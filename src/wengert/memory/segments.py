"""The blocks of a program: where it may be cut, and what each block needs to know about its operations.

Between two operations the tensors that later ones use are alive. A cut is allowed where recomputing what is before or
behind it gives the same: no later operation writes to what is alive there. Of the places that are allowed those are
taken where nothing short passes over, as the input of a residual block does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.random.masks import Masks
from ..diagnose.snapshot import base_of
from ..draw.graph import kept_by
from ..tensor import Tensor
from ..utils.checkpoint.state import RandomState
from .holders import begin, is_declared, nodes_since
from .passing import Passing
from .trace import ACTS
from .values import storage, tensors_of, values_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..nn import Module
    from .trace import Operation, Program

LONG = 0.15  # what is alive over this part of the operations is a skip connection of its own, over which cuts are made
MOST = 64  # blocks
MORE = 0.2  # what a plan keeps beside what a block saves without one, as a part of that


@dataclass
class Segment:
    """A block: ``operations``, the values that come in and go out by name, and what must be as it was to run again.

    ``last``: for each operation the values that no later one of the block uses, nor one after it. ``random``: names of
    operations that draw random numbers; ``masked``: that draw masks of dropout alone. ``buffers``: what operations
    write to: (module, name of the buffer). ``hooked``: operations whose nodes are not those of declared operators.
    ``inplace``: whether operations write to values. ``shared``: of operations that write to memory, or whose values
    lie in memory that is written to, the numbers of that memory. ``changing``: those of them whose values a later one
    may change. ``once``: whether it cannot run again. ``passing``: how many tensors go on. ``end``: the number of the
    last operation in the program.
    """

    name: str
    operations: list[Operation]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    last: list[tuple[str, ...]] = field(default_factory=list)
    random: frozenset[str] = frozenset()
    masked: frozenset[str] = frozenset()
    buffers: dict[str, list[tuple[Module, str]]] = field(default_factory=dict)
    hooked: frozenset[str] = frozenset()
    inplace: bool = False
    shared: dict[str, frozenset[int]] = field(default_factory=dict)
    changing: frozenset[str] = frozenset()
    once: bool = False
    passing: int = 1
    end: int = 0
    note: str = ""
    found: dict[Any, Any] = field(default_factory=dict, repr=False)  # answers about it that steps ask again

    def __post_init__(self) -> None:
        later = set(self.outputs)
        rows: list[tuple[str, ...]] = []
        own = {op.name for op in self.operations} | set(self.inputs)
        for op in reversed(self.operations):
            rows.append(tuple({*op.inputs, op.name} & (own - later)))
            later |= set(op.inputs)
        self.last = rows[::-1]
        order = [(op.name, self.shared[op.name]) for op in self.operations if op.name in self.shared]
        self.changing = frozenset(name for k, (name, own) in enumerate(order)
            if any(own & other for _, other in order[k + 1 :]))


@dataclass
class Facts:
    """What running a program on the sample has shown, by operation."""

    alive: list[tuple[str, ...]] = field(default_factory=list)  # names that later operations use
    storages: list[frozenset[int]] = field(default_factory=list)  # and their memory, by a number; inputs apart
    sizes: dict[int, int] = field(default_factory=dict)
    gradient: list[int] = field(default_factory=list)  # bytes of what is alive and has a history
    saved: set[int] = field(default_factory=set)  # storages that graphs keep for their backward
    packed: list[int] = field(default_factory=list)  # bytes that it made graphs keep
    kept: list[set[int]] = field(default_factory=list)  # storages that its own graph keeps
    written: list[set[int]] = field(default_factory=list)  # storages that it wrote to
    values: list[set[int]] = field(default_factory=list)  # storages of its value
    outside: list[bool] = field(default_factory=list)  # whether it wrote to something that the step begins with
    random: set[str] = field(default_factory=set)
    masked: dict[str, int] = field(default_factory=dict)  # what draws masks of dropout alone: the bytes of their bits
    hooked: set[str] = field(default_factory=set)
    buffers: dict[str, list[tuple[Module, str]]] = field(default_factory=dict)
    once: set[str] = field(default_factory=set)
    output_gradient: int = 0  # bytes of what the model gives and has a history

    def skips(self, ends: Sequence[int]) -> list[int]:
        """By block the bytes of what it makes that is alive over a whole later block."""
        rows: list[int] = []
        seen: set[int] = set()
        for k, end in enumerate(ends):
            over = set(self.storages[end] & self.storages[ends[k + 1]]) if k + 1 < len(ends) else set()
            rows.append(sum(self.sizes[number] for number in over - seen))
            seen |= over
        return rows

    def early(self, ends: Sequence[int]) -> list[list[Passing]]:
        """By block what it gives that is a skip connection, or that neither its graph keeps nor that of the next. What
        the model gives stays.
        """
        begins = [0, *(end + 1 for end in ends)]
        kept = [set().union(*self.kept[begin : end + 1]) for begin, end in zip(begins, ends)]
        alive = [self.storages[end] for end in ends]
        rows: list[list[Passing]] = []
        for k, made in enumerate(alive):
            row = []
            for number in sorted(made - (alive[k - 1] if k else frozenset()) - alive[-1]):
                last = 1 + max(i for i, held in enumerate(alive) if number in held)
                keepers = tuple(i for i, own in enumerate(kept) if number in own)
                if last > k + 1 or not {k, last}.intersection(keepers):
                    row.append(Passing(self.sizes[number], last, keepers))
            rows.append(row)
        return rows

    def passing(self, at: int) -> int:
        """The bytes that are alive after an operation."""
        return sum(self.sizes[number] for number in self.storages[at])


class _Watch:
    """Runs a program, and sees what it does."""

    def __init__(self, program: Program, model: Module, tensors: Sequence[Any]) -> None:
        self.program, self.facts, self.uses = program, Facts(), program.uses()
        self.env: dict[str, Any] = dict(zip(program.inputs, tensors))
        self.numbers: dict[int, tuple[Any, int]] = {}  # by the identity of an array, which is kept meanwhile
        self.packed: dict[int, Any] = {}
        self.constant = {id(storage(t)) for t in [*tensors, *model.parameters(), *model.buffers()]
            if isinstance(t, Tensor)}
        self.buffers = [(m, n, b) for m in model.modules() for n, b in m._buffers.items() if isinstance(b, Tensor)]

    def step(self, at: int, op: Operation) -> None:
        """Run an operation."""
        versions = {name: [t._version for t in tensors_of(self.env[name])] for name in op.inputs}
        before = [b._version for _, _, b in self.buffers]
        masks, since = _Masks(), begin()
        with masks:
            value = self.env[op.name] = op.run(self.env)
        if not same_random(masks.state, RandomState()):
            self.facts.random.add(op.name)
        elif masks.rows and masks.alone:
            self.facts.masked[op.name] = masks.nbytes
        elif masks.rows:
            self.facts.random.add(op.name)
        self._graph(op, value, since)
        changed = [(m, n) for (m, n, b), version in zip(self.buffers, before)
            if b._version != version or m._buffers.get(n) is not b]
        if changed:
            self.facts.buffers[op.name] = changed
            if op.module is None or not {m for m, _ in changed} <= set(op.module.modules()):
                self.facts.once.add(op.name)
        made = {id(base): base for base in map(storage, tensors_of(value)) if id(base) not in self.constant}
        for key, base in made.items():
            self.numbers.setdefault(key, (base, len(self.numbers)))
        self.facts.values.append({self.numbers[key][1] for key in made})
        self._writes(op, versions, bool(changed))
        self._alive(at)

    def _graph(self, op: Operation, value: Any, since: int) -> None:
        made = list(nodes_since(value, since))
        kept = {id(base): base for node in made for base in (base_of(array) for _, array in kept_by(node))}
        self.facts.kept.append(set(kept))
        self.facts.packed.append(sum(kept[key].nbytes for key in kept.keys() - self.packed.keys() - self.constant))
        self.packed |= kept
        if not all(map(is_declared, made)):
            self.facts.hooked.add(op.name)

    def _writes(self, op: Operation, versions: dict[str, list[int]], changed: bool) -> None:
        wrote = {id(storage(t)) for name in op.inputs for t, v in zip(tensors_of(self.env[name]), versions[name])
            if t._version != v}
        self.facts.outside.append(bool(wrote & self.constant) and not changed)
        self.facts.written.append({self.numbers[key][1] for key in wrote - self.constant if key in self.numbers})

    def _alive(self, at: int) -> None:
        """Note what later operations use; let go what none does."""
        facts, env, given = self.facts, self.env, self.program.inputs
        alive = tuple(name for name, last in self.uses.items() if last > at and name in env and name not in given)
        held = {id(storage(t)) for _, _, t in values_in(env, alive)} & set(self.numbers)
        facts.alive.append(alive)
        facts.storages.append(frozenset(self.numbers[key][1] for key in held))
        facts.sizes.update((self.numbers[key][1], self.numbers[key][0].nbytes) for key in held)
        facts.gradient.append(sum(t._wg_data.nbytes for _, _, t in values_in(env, alive) if t.grad_fn is not None))
        for name in [name for name in env if self.uses.get(name, at) <= at and name not in given]:
            del env[name]


class _Masks(Masks):
    """``alone``: nothing else has been drawn before the last of these masks. ``state``: of the streams after it."""

    __slots__ = ("alone", "state")

    def __init__(self) -> None:
        super().__init__()
        self.state, self.alone = RandomState(), True

    def mask(self, draw: Callable[[], Any]) -> Any:
        """The next mask."""
        self.alone &= same_random(self.state, RandomState())
        made = super().mask(draw)
        self.state = RandomState()
        return made


def observe(program: Program, model: Module, tensors: Sequence[Any]) -> Facts:
    """Run a program, and see what it does. Buffers and random numbers move on."""
    watch = _Watch(program, model, tensors)
    for at, op in enumerate(program.operations):
        watch.step(at, op)
    facts = watch.facts
    facts.kept = [{watch.numbers[key][1] for key in row & watch.numbers.keys()} for row in facts.kept]
    facts.saved = {number for key, (_, number) in watch.numbers.items() if key in watch.packed}
    facts.output_gradient = sum(t._wg_data.nbytes for _, _, t in values_in(watch.env, program.outputs)
        if t.grad_fn is not None)
    return facts


def same_random(a: RandomState, b: RandomState) -> bool:
    """Whether no random number was drawn between the two."""
    return all(_equal(x, y) for (_, x), (_, y) in zip(a.parts, b.parts))


def _equal(x: Any, y: Any) -> bool:
    if isinstance(x, Tensor):
        return bool(np.array_equal(x.numpy(), y.numpy()))
    if isinstance(x, (tuple, list)):
        return len(x) == len(y) and all(_equal(a, b) for a, b in zip(x, y))
    return bool(np.array_equal(x, y)) if isinstance(x, np.ndarray) else bool(x == y)


def cuts(facts: Facts) -> list[int]:
    """The numbers of the operations after which a block ends; that of the last one apart."""
    n = len(facts.alive)
    allowed = [_allowed(facts, at) for at in range(n - 1)]
    spans: dict[int, tuple[int, int]] = {}
    for at, held in enumerate(facts.storages):
        for number in held:
            spans[number] = spans.get(number, (at, at))[0], at
    short = {number for number, (begin, end) in spans.items() if end - begin < max(LONG * n, 2)}
    counts = [max(1, len(facts.storages[at] & short)) for at in range(n - 1)]
    places = [at for at in range(n - 1) if allowed[at] and facts.storages[at]]
    chosen: list[int] = []
    for k, at in enumerate(places):
        if k + 1 < len(places) and facts.storages[places[k + 1]] == facts.storages[at]:
            continue  # views: nothing is made between the two
        if _lowest(counts, places, k) and _kept_anyway(facts, chosen[-1] if chosen else -1, at):
            if chosen and facts.storages[chosen[-1]] == facts.storages[at]:
                chosen.pop()  # nothing that lasts is made between the two
            chosen.append(at)
    return _thinned(facts, chosen)


def _kept_anyway(facts: Facts, before: int, at: int) -> bool:
    """Whether graphs keep what is alive after an operation: a plan would keep it, too. A little more is allowed."""
    new = facts.storages[at] - facts.saved - (facts.storages[before] if before >= 0 else frozenset())
    return sum(facts.sizes[number] for number in new) <= MORE * sum(facts.packed[before + 1 : at + 1])


def _thinned(facts: Facts, chosen: list[int]) -> list[int]:
    """At most ``MOST`` blocks: those are joined that have the fewest operations."""
    while len(chosen) >= MOST:
        around = [-1, *chosen, len(facts.alive) - 1]
        joined = [(around[k + 2] - around[k], facts.passing(at), k) for k, at in enumerate(chosen)]
        _, _, k = min(joined, key=lambda row: (row[0], -row[1]))
        del chosen[k]
    return chosen


def _allowed(facts: Facts, at: int) -> bool:
    if not facts.gradient[at] or any(facts.outside[at + 1 :]):
        return False
    later = set().union(*facts.written[at + 1 :])
    return not later & facts.storages[at]


def _lowest(counts: list[int], places: list[int], k: int) -> bool:
    """Whether fewer are alive at no place nearby: on the way to a place with fewer there is one with more."""
    here = counts[places[k]]
    for step in (-1, 1):
        i = k + step
        while 0 <= i < len(places) and counts[places[i]] == here:
            i += step
        if 0 <= i < len(places) and counts[places[i]] < here:
            return False
    return True


def layout(program: Program, model: Module, facts: Facts, ends: Sequence[int]) -> dict[str, Any]:
    """What must be known of a program to split it again, as plain values."""
    paths = {m: name for name, m in model.named_modules()}
    names = [op.name for op in program.operations]
    bounds = [*ends, len(names) - 1]
    parts = [range(begin, end + 1) for begin, end in zip([0, *(end + 1 for end in ends)], bounds)]
    return {
        "ends": [names[end] for end in bounds], "random": sorted(facts.random), "masked": sorted(facts.masked),
        "hooked": sorted(facts.hooked),
        "buffers": {name: [[paths[m], n] for m, n in rows] for name, rows in facts.buffers.items()},
        "inplace": [any(facts.written[at] for at in part) for part in parts],
        "shared": {names[at]: sorted(shared) for part in parts for at, shared in _shared(facts, part).items()},
        "once": [any(names[at] in facts.once or facts.outside[at] for at in part) for part in parts],
        "passing": [len(facts.storages[end]) for end in bounds],
    }


def _shared(facts: Facts, part: Sequence[int]) -> dict[int, set[int]]:
    """By operation of a block the memory that it writes to or has its value in, and that the block writes to."""
    written = set().union(*(facts.written[at] for at in part))
    rows = {at: facts.written[at] | facts.values[at] & written for at in part}
    return {at: row for at, row in rows.items() if row}


def split(program: Program, model: Module, layout: dict[str, Any]) -> list[Segment]:
    """The blocks of a layout; ``ValueError`` if the program is another one."""
    number = {op.name: at for at, op in enumerate(program.operations)}
    masked, shared = layout["masked"], {name: frozenset(row) for name, row in layout["shared"].items()}
    names = {*layout["ends"], *layout["random"], *masked, *layout["buffers"]}
    if not names <= number.keys() or number[layout["ends"][-1]] != len(number) - 1:
        raise ValueError("the plan was made for another model: its operations differ")
    modules = dict(model.named_modules())
    uses = program.uses()
    found: list[Segment] = []
    begin = 0
    for k, name in enumerate(layout["ends"]):
        end = number[name]
        operations = program.operations[begin : end + 1]
        made = {op.name for op in operations}
        inputs = tuple(dict.fromkeys(name for op in operations for name in op.inputs if name not in made))
        outputs = tuple(n for n, last in uses.items() if last > end and number.get(n, end + 1) <= end)
        buffers = {n: [(modules[path], b) for path, b in rows] for n, rows in layout["buffers"].items() if n in made}
        found.append(Segment(_title(operations), operations, inputs, outputs, random=frozenset(layout["random"]) & made,
            masked=frozenset(masked) & made, hooked=frozenset(layout["hooked"]) & made, buffers=buffers,
            inplace=layout["inplace"][k], shared={n: row for n, row in shared.items() if n in made},
            once=layout["once"][k], passing=layout["passing"][k], end=end))
        begin = end + 1
    _say(found)
    if layout.get("whole"):
        found[0].note = f"its forward cannot be followed: {layout['whole']}"
    return found


def _title(operations: Sequence[Operation]) -> str:
    """What a block is called: its first module, or its first operation, and the last one."""
    names = [op.path or op.name for op in operations if tensor_like(op)] or [operations[0].name]
    return names[0] if len(names) == 1 or names[0] == names[-1] else f"{names[0]} … {names[-1]}"


def _say(found: list[Segment]) -> None:
    """Note what is unusual about blocks."""
    for segment in found:
        computed = [op for op in segment.operations if op.kind == "call_module" or tensor_like(op)]
        notes = [f"{len(computed)} operations fused"] if len(computed) > 1 else []
        if segment.passing > 1:
            notes.append(f"{segment.passing} tensors go on")
        if segment.inplace:
            notes.append("writes in place")
        if segment.once:
            notes.append("runs once")
        segment.note = ", ".join(notes)


def tensor_like(op: Operation) -> bool:
    """Whether an operation is more than reading an attribute or an entry."""
    return op.kind not in ("get_attr", *ACTS) and not op.name.startswith("getitem")
