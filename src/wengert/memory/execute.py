"""One step as a schedule says: the forward, and what is done between the backwards of blocks.

The graph is recorded once, in the forward, as without a plan; where a block does not save, with holders in place of
arrays. Before the block's backward those that are still wanted are filled: values are computed without a graph, and
only operations that held something of their own run with one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..arrays.random.masks import Masks
from ..autograd.graph import saved_tensors_hooks
from ..graph.modes import enable_grad, modes, no_grad
from ..tensor import Tensor
from ..tensor.tensor import wrap
from ..utils._pytree import tree_map
from ..utils.checkpoint.state import RandomState, Surroundings
from .holders import ALL, Holder, Recorder, begin, memory_of
from .passing import quiet
from .trace import ACTS
from .values import detached, storage, tensors_of, values_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence, Set

    from ..nn import Module
    from .chain import Operation as Step
    from .segments import Segment
    from .trace import Operation, Program


class Run:
    """One step. ``forward`` runs the model, ``advance(i)`` does what the schedule says before the backward of ``i``."""

    def __init__(self, program: Program, segments: Sequence[Segment], ways: Sequence[Sequence[Iterable[str] | None]],
            schedule: Sequence[Step], constant: set[int], probe: Callable[[str, int], None] | None = None) -> None:
        self.program, self.segments, self.schedule, self.constant = program, segments, schedule, constant
        self.ways = ways
        self.at = 0  # the next operation of the schedule
        self.reached = len(segments)  # the block whose backward has begun
        self.given: dict[str, Any] = {}
        self.plain: dict[int, dict[str, Any]] = {}
        self.saved: dict[int, dict[str, Any]] = {}
        self.kept: dict[int, dict[str, Any]] = {}
        self.recorders: dict[int, Recorder] = {}
        self.random: dict[str, RandomState] = {}
        self.masks: dict[str, Masks] = {}
        self.buffers: dict[str, list[Any]] = {}  # arrays
        self.surroundings = Surroundings(False)
        self.probe = probe or (lambda what, block: None)
        self.quiet = set() if probe is not None else quiet(schedule, len(segments))

    # -- the forward ---------------------------------------------------------------------------------------------------

    def forward(self, tensors: Sequence[Any]) -> Any:
        """What the model gives."""
        env: dict[str, Any] = dict(zip(self.program.inputs, tensors))
        self.given = {name: detached(value) for name, value in env.items()}
        self.versions = [t._version for t in self.given.values()]
        self.constant = self.constant | {id(storage(t)) for t in tensors_of(list(tensors))}
        last = len(self.segments) - 1
        ran = -1
        while ran < last:
            op, i, o = self.schedule[self.at]
            if op == "free":
                self.plain.pop(i)
            else:
                env = self._first(i, o, env)
                ran = i
            self.at += 1
            if op == "forward":
                self.probe("first", i)
        while self.at < len(self.schedule) and self.schedule[self.at][0] == "free":
            self.plain.pop(self.schedule[self.at][1])
            self.at += 1
        return self.program.result(env)

    def _first(self, i: int, o: int | None, env: dict[str, Any]) -> dict[str, Any]:
        """Run block ``i`` for the first time: the values that go on."""
        segment = self.segments[i]
        keep: Any = frozenset() if o is None else self.ways[i][o]
        if o is None or keep is not ALL or self._outlives(i):
            env = self._recorded(segment, i, keep if keep is ALL else frozenset(keep), env)
        else:
            env = {**env}
            for op, last in zip(segment.operations, segment.last):
                env[op.name] = op.run(env)
                for name in last:
                    if name not in self.given:
                        del env[name]
        env = {name: env[name] for name in (*segment.outputs, *self.given)}
        if o is None or i + 1 not in self.quiet:
            held = {name: detached(env[name]) for name in segment.outputs}
            (self.plain if o is None else self.saved)[i] = held
        if i not in self.quiet or i in self.saved:
            self._wait(i, env)
        return env

    def _outlives(self, i: int) -> bool:
        """Whether what block ``i`` saves stays longer than its input."""
        if i == 0:
            return False
        for op, k, _ in self.schedule[self.at :]:
            if op == "backward" and k == i:
                return False
            if op == "free" and k == i - 1:
                return True
        return False

    def _recorded(self, segment: Segment, i: int, keep: frozenset[str] | None, env: dict[str, Any]) -> dict[str, Any]:
        """Run a block under hooks, which keep of what its graph saves what ``keep`` names."""
        env = {name: env[name] for name in (*segment.inputs, *(n for n in segment.outputs if n in env), *self.given)}
        recorder = Recorder(i, segment, {n: env[n] for n in segment.inputs if n not in self.given}, keep, self.constant)
        kept: dict[str, Any] = {}
        key = "template", keep, tuple(str(c.dtype) for c in self.surroundings.casters)
        template = segment.found.get(key)
        recorder.marks = [] if template is None else [begin()]
        for op, last in zip(segment.operations, segment.last):
            self._remember(segment, op)
            if template is None:
                value = self._noted(segment, op, env, recorder)
            else:
                value = env[op.name] = self._drawn(op, env)
            if keep and op.name in keep and op.name not in segment.changing:
                kept[op.name] = detached(value)
            del value
            for name in last:
                if name not in self.given:
                    del env[name]
        if template is None:
            recorder.finish(env, self.unpack)
            if not segment.hooked:
                segment.found[key] = recorder.template(env)
        elif not recorder.follow(template, env, self.unpack):
            del segment.found[key]  # a parameter was frozen, for example; this step keeps all
        self.recorders[i] = recorder
        if kept:
            self.kept[i] = kept
        return env

    def _noted(self, segment: Segment, op: Operation, env: dict[str, Any], recorder: Recorder) -> Any:
        """Run an operation; what it gives and saves is noted."""
        since = begin()
        if op.name in segment.hooked:
            with saved_tensors_hooks(recorder.pack, self.unpack):
                value = env[op.name] = self._drawn(op, env)
        else:
            value = env[op.name] = self._drawn(op, env)
        recorder.ended(op, value, since, self.unpack)
        return value

    def _drawn(self, op: Operation, env: dict[str, Any]) -> Any:
        """The value of an operation; its masks of dropout are kept."""
        masks = self.masks.get(op.name)
        if masks is None:
            return op.run(env)
        with masks:
            return op.run(env)

    def _remember(self, segment: Segment, op: Operation) -> None:
        """Note what an operation must find again when it runs again."""
        if op.name in segment.masked and not modes().dispatch:
            self.masks[op.name] = Masks()
        elif op.name in segment.random or op.name in segment.masked:
            self.random[op.name] = RandomState()
        if op.name in segment.buffers:
            self.buffers[op.name] = [vars(m)["_buffers"][n]._wg_data.copy() for m, n in segment.buffers[op.name]]

    def _wait(self, i: int, env: dict[str, Any]) -> None:
        """When the gradient of what the block made is there, its backward is next."""
        made = {op.name for op in self.segments[i].operations}
        for _, _, t in values_in(env, [name for name in self.segments[i].outputs if name in made]):
            if t.grad_fn is not None:
                t.register_hook(partial(self._arrived, i))

    def _arrived(self, i: int, _: Any) -> None:
        self.advance(i)

    # -- the backward --------------------------------------------------------------------------------------------------

    def unpack(self, holder: Any) -> Any:
        """The tensor that a holder stands for."""
        if type(holder) is not Holder:
            return holder  # a parameter, or what the step was given
        if not holder.filled:
            self.advance(holder.block)
        if holder.tensor is None and holder.node is not None:
            node = holder.node()
            at, number = holder.place
            entry = None if node is None or node.saved is None else node.saved[at]
            array = entry[number] if number >= 0 and entry is not None else entry
            if array is not None and holder.filled:
                return wrap(array)
        if holder.tensor is None:
            raise RuntimeError("a planned step can be walked backward once: what its blocks saved has been used; "
                "run the forward again")
        return holder.tensor

    def advance(self, block: int) -> None:
        """Do what the schedule says up to the backward of ``block``."""
        if block >= self.reached:
            return
        if self.surroundings.holds():
            self._advance(block)
            return
        with self.surroundings.again(), self.surroundings.device_again():
            self._advance(block)

    def _advance(self, block: int) -> None:
        while self.reached > block:
            op, i, o = self.schedule[self.at]
            self.at += 1
            if i >= len(self.segments):
                continue  # the loss, which is not ours
            self.probe("until", i)
            if op == "free":
                self.plain.pop(i, None)
            elif op == "forward":
                self._again(i, o)
            else:
                self._begin(i)
            self.probe(op, i)

    def _begin(self, i: int) -> None:
        """The backward of block ``i`` begins: nobody needs its output any more, and its holders must be full."""
        self.reached = i
        self.saved.pop(i, None)
        if i in self.recorders:
            self._fill(i, outputs=False)
            del self.recorders[i]
            for name in self.segments[i].masked:
                self.masks.pop(name, None)
            self.kept.pop(i, None)

    def _inputs(self, i: int) -> dict[str, Any]:
        """The values that come into block ``i``."""
        if [t._version for t in self.given.values()] != self.versions:
            raise RuntimeError("an input of a planned module was written to before the backward, which computes values "
                "from it again")
        found = dict(self.given)
        if i:
            found.update(self.plain[i - 1] if i - 1 in self.plain else self.saved[i - 1])
        return found

    def _again(self, i: int, o: int | None) -> None:
        """Run block ``i`` once more."""
        following = next((step for step in self.schedule[self.at :] if step[0] != "free"), ("", -1, None))
        if o is not None and following[0] == "backward" and following[1] == i:
            return  # its holders are filled then, and the forward stops when they are
        outputs = self._fill(i, outputs=True, keep=frozenset() if o is None else self.ways[i][o])
        (self.plain if o is None else self.saved)[i] = outputs

    def _fill(self, i: int, outputs: bool, keep: Any = ALL) -> dict[str, Any]:
        """Compute what the holders of block ``i`` wait for, as far as ``keep`` says; its outputs if they are wanted."""
        segment, recorder = self.segments[i], self.recorders[i]
        stay = frozenset(keep or ()) - segment.changing  # results that are kept
        before = set(self._inputs(i))
        names: dict[str, list[Holder]] = {}
        own: dict[int, dict[int, Holder]] = {}
        for holder in (ref() for ref in recorder.holders):
            if holder is None or holder.filled or (holder.unread is not None and self._left_blank(holder, outputs)):
                continue
            if holder.name is None:
                if keep is ALL or segment.operations[holder.operation].name in keep:
                    own.setdefault(holder.operation, {})[holder.number] = holder
            elif (keep is ALL or holder.name in stay) and not (outputs and holder.name in before):
                names.setdefault(holder.name, []).append(holder)
        env = {**self.kept.get(i, {}), **self._inputs(i)}
        wanted = {*names, *(segment.outputs if outputs else ()), *stay}
        for name in [name for name in names if name in env]:
            _give(names.pop(name), env[name])
        needed = _remembered(segment, _needed, frozenset(wanted - set(env)), frozenset(own), frozenset(env))
        kept: dict[str, Any] = {}
        if needed:
            self._compute(segment, recorder, env, needed, wanted, names, own, kept, stay)
        if keep:
            self.kept[i] = kept
        return {name: env[name] for name in segment.outputs} if outputs else {}

    def _left_blank(self, holder: Holder, outputs: bool) -> bool:
        """Whether what a plain backward does not look at need not be computed."""
        if not outputs and modes().grad:
            return False  # a backward that is recorded
        if not outputs:
            holder.blank()
        return True

    def _compute(self, segment: Segment, recorder: Recorder, env: dict[str, Any], needed: list[bool], wanted: set[str],
            names: dict[str, list[Holder]], own: dict[int, dict[int, Holder]], kept: dict[str, Any],
            keep: Set[str]) -> None:
        """Run the operations that are needed, and give holders what they wait for."""
        last = _remembered(segment, _last, tuple(needed), frozenset(set(segment.outputs) & wanted))
        draws = self.random and any(op.name in self.random for op, n in zip(segment.operations, needed) if n)
        now = RandomState() if draws else None
        with no_grad():
            for at, op in enumerate(segment.operations):
                if not needed[at]:
                    continue
                value = env[op.name] = self._run_again(segment, op, env, recorder.grads, own.get(at))
                if op.name in names:
                    _give(names[op.name], value)
                if op.name in keep:
                    kept[op.name] = value
                del value
                for name in last[at]:
                    env.pop(name, None)
        if now is not None:
            now.restore()

    def _run_again(self, segment: Segment, op: Operation, env: dict[str, Any], grads: dict[str, list[bool]],
            holders: dict[int, Holder] | None) -> Any:
        """The value of an operation; ``holders``: catch what it saves of its own."""
        if op.name in self.random:
            self.random[op.name].restore()
        if op.name not in self.buffers:
            return self._drawn(op, env) if holders is None else self._with_graph(segment, op, env, grads, holders)
        with _Buffers(segment.buffers[op.name], self.buffers[op.name]):
            return self._drawn(op, env) if holders is None else self._with_graph(segment, op, env, grads, holders)

    def _with_graph(self, segment: Segment, op: Operation, env: dict[str, Any], grads: dict[str, list[bool]],
            holders: dict[int, Holder]) -> Any:
        with enable_grad():
            values = {name: _leaf(env[name], grads.get(name), name in segment.shared) for name in op.inputs}
            value = self._caught(segment, op, values, holders)
        return _written(env, values, value) if segment.inplace else value

    def _caught(self, segment: Segment, op: Operation, values: dict[str, Any], holders: dict[int, Holder]) -> Any:
        """The value of an operation, whose graph fills holders."""
        if op.name not in segment.hooked:
            since = begin()
            value = self._drawn(op, values)
            for number, (_, _, array) in enumerate(memory_of(value, since)):
                if number in holders:
                    holders[number].fill(array)
            return detached(value)
        count = [0]

        def catch(t: Any) -> None:
            holder = holders.get(count[0])
            count[0] += 1
            if holder is not None:
                holder.fill(t.detach())

        with saved_tensors_hooks(catch, _same):
            return detached(self._drawn(op, values))


NONE: frozenset[int] = frozenset()


class _Buffers:
    """A context in which buffers are copies of what they were."""

    def __init__(self, places: list[tuple[Module, str]], values: list[Any]) -> None:
        self.places, self.values = places, values

    def __enter__(self) -> None:
        self.now = [m._buffers[n] for m, n in self.places]
        for (m, n), value in zip(self.places, self.values):
            m._buffers[n] = wrap(value.copy())

    def __exit__(self, *exc: object) -> None:
        for (m, n), value in zip(self.places, self.now):
            m._buffers[n] = value


def _same(value: Any) -> Any:
    return value


def _leaf(value: Any, grads: list[bool] | None, copied: bool) -> Any:
    """A value whose tensors require gradients where they did; ``copied``: they may be written to, as no leaf may."""
    if not grads or not any(grads):
        return value
    if type(value) is Tensor and not copied:
        return value.detach().requires_grad_()
    flags = iter(grads)

    def leaf(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        made = x.detach().requires_grad_(next(flags))
        return made.clone() if copied and made.requires_grad else made

    return tree_map(leaf, value)


def _written(env: dict[str, Any], values: dict[str, Any], value: Any) -> Any:
    """What an operation wrote to copies is written to what they are copies of: ``value``, seen there if it is one."""
    for name, made in values.items():
        for original, copy in zip(tensors_of(env[name]), tensors_of(made)):
            if copy.grad_fn is None or copy._version == 0:
                continue
            with no_grad():
                original.copy_(copy)
            if isinstance(value, Tensor) and storage(value) is storage(copy) and value.shape == copy.shape:
                value = original
    return value


def _give(holders: list[Holder], value: Any) -> None:
    """Fill the holders of a value."""
    for holder in holders:
        holder.fill(value)


def _remembered(segment: Segment, find: Callable[..., Any], *args: Any) -> Any:
    """``find(segment, *args)``, which steps ask again and again."""
    key = find, args
    if key not in segment.found:
        segment.found[key] = find(segment, *args)
    return segment.found[key]


def _needed(segment: Segment, wanted: Set[str], own: Set[int], there: Set[str]) -> list[bool]:
    """Which operations must run for these values, and for what these operations save of their own."""
    needed = [False] * len(segment.operations)
    wanted = set(wanted)
    shared = segment.shared
    memory: set[int] = set().union(*(shared[name] for name in wanted if name in shared))  # that must be as it was
    for at, op in reversed(list(enumerate(segment.operations))):
        if op.kind in ACTS:
            continue
        if at in own or (op.name in wanted and op.name not in there) or (memory and memory & shared.get(op.name, NONE)):
            needed[at] = True
            wanted.update(op.inputs)
            for name in (op.name, *op.inputs) if shared else ():
                memory |= shared.get(name, NONE)
    return needed if any(needed) else []


def _last(segment: Segment, needed: Sequence[bool], outputs: Set[str]) -> list[list[str]]:
    """For each operation the values that no later one uses."""
    later = set(outputs)
    rows: list[list[str]] = []
    for op, runs in zip(reversed(segment.operations), reversed(needed)):
        used = {op.name, *op.inputs} if runs else set()
        rows.append(list(used - later))
        later |= used
    return rows[::-1]
