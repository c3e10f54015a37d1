"""graph-leak: graphs of earlier steps stay alive because something of the program holds them."""

from __future__ import annotations

import ast
import weakref
from collections import deque
from math import inf
from typing import TYPE_CHECKING, Any

from ...graph.engine import current_node, reachable_nodes
from ...nn import Module
from ...tensor import Tensor
from ..findings import Finding
from ..holders import Link, spelled, tensors
from ..places import all_variables, is_users
from ..record import node_place
from ..rule import Rule
from ..snapshot import memory_of
from ..statements import accumulates, assignments, calls, class_of, looped, puts, storing
from . import outputs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...graph.interceptors import Call
    from ..holders import Hold
    from ..record import Backward, Event, Record
    from ..watching import Watching

KEPT = 4  # graphs of so many earlier steps begin to be suspicious
SURE = 8  # and with so many it is no small window of the last steps
ACCUMULATED = 16  # backwards that a step may be made of
EARLY = 64  # after so many backwards only every eighth is looked at
LATE = 256  # after so many every 32nd
VISITED = 400_000  # nodes that a search for holders looks at
NODES = 40  # of a graph, that are looked at
BOUND = 1000  # the length of a deque up to which it is a window of the last steps


class Generation:
    """The graph that one backward walked: weak references to its root and to nodes at its bottom."""

    def __init__(self, step: Any, number: int, nodes: Iterable[Any]) -> None:
        self.step, self.number, self.refs = step, number, [weakref.ref(node) for node in nodes]

    def alive(self) -> list[Any]:
        """Those of the nodes that are alive."""
        return [node for node in (ref() for ref in self.refs) if node is not None]


class Leaks(Rule):
    """Finds graphs that stay alive, and the line that keeps them."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.generations: deque[Generation] = deque(maxlen=32)
        self.pending: list[Finding] = []
        self.first: list[Generation] = []  # the graphs that it was found for, the oldest first
        self.enough = KEPT  # so many graphs are to be explained
        self.step = (0, 0)  # the number of optimizer steps, and of the first backward after them
        self.newest = inf  # the number of the last root: nodes made before it have the same or larger ones
        self.over = False  # whether there is nothing more to look for
        self.outputs = outputs.Outputs(record, explain)

    def begins(self, watching: Watching) -> None:
        """Keep the hook of ``Outputs`` out of what is copied and saved."""
        watching.around(Module.__getstate__, outputs.unhooked)

    def backward_begins(self, backward: Backward) -> Iterable[Finding] | None:
        """Look whether graphs of earlier steps are alive, and note this one."""
        self.outputs.walks(backward)
        number = backward.number  # more rarely in a long run: what leaks is still there
        if self.over or (number > EARLY and number % (8 if number < LATE else 32)):
            return None
        step = self._step(backward)
        if step is None:
            return None
        found = self._look(step)
        nodes = bottoms(backward.roots, self.newest)
        if nodes:
            self.newest = nodes[0].seq
            self.generations.append(Generation(step, backward.number, nodes))
        return found

    def _step(self, backward: Backward) -> Any:
        """What tells the graphs of one step from those of another; None if the graph is part of a larger one, or is
        to be walked again before the next step.
        """
        if backward.step != self.step[0]:
            if self.step[0] == 0:  # what was taken for steps were the parts of the first one
                self.generations.clear()
                self.pending = []
            self.step = backward.step, backward.number
        if backward.number - self.step[1] < ACCUMULATED and (backward.step or self.record.optimizers):
            return -backward.step
        options = backward.options
        again = options.get("create_graph") or (options.get("retain_graph") and self.record.optimizers)
        # numbers of steps are not positive here, those of backwards are
        return None if backward.captured or again else backward.number

    def kept(self, step: Any) -> list[Generation]:
        """The generations of earlier steps that are alive, by nodes of their own; the others are dropped."""
        seen: set[int] = set()
        found, steps = [], set()
        for generation in list(self.generations):
            alive = generation.alive()
            if not alive:
                self.generations.remove(generation)
                continue
            own = [node for node in alive if id(node) not in seen]
            seen.update(map(id, own))
            if own and generation.step != step and generation.step not in steps:
                steps.add(generation.step)
                found.append(generation)
        return found

    def _look(self, step: Any) -> list[Finding] | None:
        kept = self.kept(step)
        if self.pending:
            gone = [generation for generation in self.first if not generation.alive()]
            if any(generation in gone for generation in self.first[:-2]):
                if len(gone) < len(self.first):  # the oldest went, others stay: a window of the last steps
                    self.over, self.pending = True, []
                    return None
                if step < 0:  # all went at once, at the end of an epoch
                    return self._sure()
                self.pending = []
        if not self.pending and len(kept) >= self.enough:
            self.first = kept
            self.pending = explain({id(node): g.number for g in kept for node in g.alive()})
            if not self.pending:
                self.enough += KEPT
                self.over = self.enough > 4 * KEPT
        return self._sure() if self.pending and len(kept) >= SURE else None

    def _sure(self) -> list[Finding]:
        self.over, found, self.pending = True, self.pending, []
        return found

    def window_ended(self) -> None:
        """Watch the outputs of models from now on, and look for what was left behind."""
        self.outputs.begin()
        self.outputs.grown()

    def failed(self, error: BaseException) -> Iterable[Finding] | None:
        """Memory may have run out."""
        self.outputs.failed()
        return self._sure() if self.pending and isinstance(error, MemoryError) else None

    def called(self, event: Event, call: Call, result: Any) -> None:
        """An operator was called, in a detailed window."""
        self.outputs.made_here(result)

    def module_called(self, module: Any, args: Any, output: Any, site: Any) -> None:
        """A module was called, in a detailed window."""
        if not self.record.here.modules and not current_node():
            self.outputs.called(module, output)

    def ended(self) -> Iterable[Finding] | None:
        """What was still pending."""
        return [*self._sure(), *self.outputs.ended()]


def bottoms(roots: Any, older: float) -> list[Any]:
    """The first root, and nodes of its graph that only leaves feed, or nodes with a number from ``older`` on: whatever
    is kept of the graph keeps them alive.
    """
    stack = [node for (node, _), _ in roots if not node.is_leaf]
    found, seen = stack[:1], set[Any]()
    while stack and len(seen) < NODES:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        below = [e[0] for e in node.edges if e is not None and not e[0].is_leaf and e[0].seq < older]
        stack += below
        if not below and len(found) < 8:
            found.append(node)
    if len(found) == 1 and stack:
        found.append(stack[-1])
    return found


# -- who holds them ---------------------------------------------------------------------------------------------------


def explain(numbers: dict[int, int], now: int = 0) -> list[Finding]:
    """What holds these graphs, and the lines that made it so. ``numbers``: for ids of nodes, the graph they are of.
    ``now``: the number of the newest graph, if not all of them are among these.
    """
    holds: list[tuple[Hold, set[int]]] = []
    left = VISITED
    for hold in tensors():
        seen = outputs.some_nodes(hold.value._wg_edge[0], min(left, VISITED // 8))
        left -= len(seen)
        reached = {numbers[id(n)] for n in seen if id(n) in numbers}
        if reached:
            holds.append((hold, reached))
        if left <= 0:
            break
    found = [_container(*row) for row in containers(holds)] or [
        _chain(hold, now - min(reached) if now else len(reached)) for hold, reached in chains(holds)]
    return [f for f in found if f is not None]


def containers(holds: list[tuple[Hold, set[int]]]) -> list[tuple[Any, list[Hold], set[int]]]:
    """The innermost containers of tensors that each hold one of the graphs, or several that no other of them holds
    (sums over a few steps): path to it, what it holds, which graphs.
    """
    return (_containers([row for row in holds if len(row[1]) <= 2])
        or [row for row in _containers([row for row in holds if len(row[1]) > 2]) if _apart(row, holds)])


def _apart(row: tuple[Any, list[Hold], set[int]], holds: list[tuple[Hold, set[int]]]) -> bool:
    mine = {id(hold) for hold in row[1]}
    sizes = [len(reached) for hold, reached in holds if id(hold) in mine]
    return len(sizes) > 2 and sum(sizes) == len(row[2])


def _containers(holds: list[tuple[Hold, set[int]]]) -> list[tuple[Any, list[Hold], set[int]]]:
    rows: dict[int, tuple[Any, list[Hold], set[int]]] = {}
    for hold, reached in holds:
        for i, holder in enumerate(hold.holders[:-1]):
            row = rows.setdefault(id(holder), (hold.path[: i + 1], [], set()))
            row[1].append(hold)
            row[2].update(reached)
            if i == len(hold.holders) - 2 and isinstance(holder, deque) and holder.maxlen is not None and (
                    holder.maxlen <= BOUND):
                rows[id(holder)] = (None, [], set())
    full = {key: row for key, row in rows.items() if len(row[2]) >= KEPT}
    outer = {id(holder) for key, (path, inside, _) in full.items() for holder in inside[0].holders[: len(path) - 1]}
    return [row for key, row in full.items() if key not in outer]


def chains(holds: list[tuple[Hold, set[int]]]) -> list[tuple[Hold, set[int]]]:
    """The tensor whose own graph has grown: of those that hold enough, the one that was computed first."""
    long = [(hold, reached) for hold, reached in holds if len(reached) >= KEPT]
    return sorted(long, key=lambda row: -row[0].value._wg_edge[0].seq)[:1]


def _container(path: Any, inside: list[Hold], reached: set[int]) -> Finding | None:
    name = inside[0].holders[len(path) - 1]
    whole, theirs = path, any(map(_foreign, path))
    while len(path) > 1 and _foreign(path[-1]):
        path = path[:-1]  # what a library's object keeps it in
    text = spelled(path)
    statement = storing(path) or next(puts((Link("self", "self", type(name)),)), None)
    if statement is None and theirs:
        statement = storing(whole) or next(calls(path, _graphed), None)
    theirs = theirs and statement is None  # it does so by itself, and lets go of them some day, perhaps
    place = None if statement is None else statement.place
    if place is None:
        place = node_place(inside[-1].value._wg_edge[0])
    if place is None or not is_users(place):
        return None
    evidence = [f"{text} ({type(name).__name__}) holds the graphs of {len(reached)} earlier steps",
        _size(inside[-1].value, 1)]
    if theirs:
        return Finding("graph-leak", place, f"{text}, a library's object, keeps tensors with their graphs by itself: "
            "memory grows until it lets go of them.", "Nothing here, if it does so soon (after an epoch, say); else "
            "see what the library can be told.", evidence=evidence, severity="info")
    return Finding("graph-leak", place, f"{text} keeps tensors with their graphs: every step adds one, and none is "
        "freed, so memory grows with every step.", fix=f"Store loss.item() or x.detach() in {text}, not the "
        "tensor with its history.", evidence=evidence)


def _foreign(link: Link) -> bool:
    """Whether it is an attribute of an object whose class the program does not define."""
    return link.kind == "attribute" and isinstance(link.owner, type) and not any(class_of(link.owner))


def _graphed(e: Any) -> bool:
    """Whether an expression is a variable that has a tensor with a graph now."""
    return isinstance(e, ast.Name) and any(isinstance(x := names.get(e.id), Tensor) and x._wg_edge is not None
        for names in all_variables())


def _chain(hold: Hold, graphs: int) -> Finding | None:
    t = hold.value
    made = node_place(t._wg_edge[0])
    place, last = made, ""
    found = assignments(hold)
    written = [*found, *puts(hold.path, True)]
    if not accumulates(made) and not any(s.covers(made) for s in written):
        again = [s for s in found if looped(s)] or found
        if again:
            place = again[-1].place
    if place is None or not is_users(place):
        return None
    text = hold.text
    if made is not None:
        last = f"; its last operation is {t._wg_edge[0].name()} at {made}"
    return Finding("graph-leak", place, f"The graph of {text} grows with every step: its new value is computed from "
        "its old one with all of its history.", fix="Cut the history between steps: add x.item() or x.detach() to "
        f"a sum; carry a state over as {text}.detach().", evidence=[
            f"{text} holds the graphs of {graphs} earlier steps{last}", _size(t, graphs)])


def _size(t: Any, graphs: int) -> str:
    """How large one graph is."""
    nodes: set[Any] = reachable_nodes([t._wg_edge])
    memory = {id(a): memory_of(a) for node in nodes if not node.is_leaf for a in (node.saved or ())}
    leaves = {id(node.variable._wg_data) for node in nodes if node.is_leaf}
    size = sum(n for key, n in memory.items() if key not in leaves) // graphs
    freed = ("" if size or not outputs.walked(t._wg_edge[0]) else
        " (their saved values were freed by backward(), the nodes were not)")
    return f"per step: {len(nodes) // graphs} nodes and {size:,} bytes of saved values{freed}"
