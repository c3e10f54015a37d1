"""A snapshot of the graph that one ``backward()`` walks: what the HTML page draws, in plain numbers and names.

It is taken when the walk begins and filled in as it goes. It keeps no tensors, arrays or nodes alive.
"""

from __future__ import annotations

from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.reduce import sum_to
from ..nn import Module
from .places import main_variables
from .record import node_modules, node_place
from .rules.cuts import passes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..graph.node import Node
    from .places import Place
    from .record import Backward, Event, Record

#: How many nodes a snapshot has at most: those nearest to the roots.
LIMIT = 100_000
#: How many events the search for a cut visits at most.
SEARCHED = 50_000


class Row:
    """One node of the graph: ``edges`` are the numbers of the rows that its gradients go to (-1: none), ``norms`` the
    norms of these gradients (None: there was none, or it is not known), ``saved`` the buffers that it keeps.

    ``module``: the name of its root module, and the path from there; ``forward``, ``backward``: nanoseconds;
    ``turn``: the how-manieth the walk came to (-1: it did not).
    """

    __slots__ = ("backward", "dtype", "edges", "forward", "leaf", "module", "name", "norms", "place", "saved", "shape",
        "turn")

    def __init__(self, name: str, shape: Any, dtype: Any) -> None:
        self.name, self.shape, self.dtype = name, shape, dtype
        self.place: Place | None = None
        self.module: tuple[str, ...] = ()
        self.edges: list[int] = []
        self.norms: list[float | None] = []
        self.saved: list[int] = []
        self.leaf = -1  # of a leaf: its row in ``Snapshot.parameters``
        self.forward: int | None = None
        self.backward: int | None = None
        self.turn = -1


class Link:
    """One call on the way from a parameter to the loss, where that is cut. ``cuts``: whether the history ends here."""

    __slots__ = ("cuts", "name", "place", "shape", "switched")

    def __init__(self, event: Event, cuts: bool) -> None:
        self.name, self.place, self.shape, self.cuts = event.name, event.place, event.shape, cuts
        self.switched = event.off.place if event.off is not None else None


class Held:
    """A parameter, or another leaf that requires a gradient. ``label``: its name with that of its model, where several
    have such a parameter. ``node``: its row in the graph; -1 without one.
    """

    __slots__ = ("chain", "label", "name", "node", "shape", "wanted")

    def __init__(self, name: str, label: str, shape: tuple[int, ...], wanted: bool) -> None:
        self.name, self.label, self.shape, self.wanted = name, label, shape, wanted
        self.node = -1
        self.chain: list[Link] = []  # the calls from it to the loss, if no gradient comes to it


class Snapshot:
    """The graph of one backward: see ``Row`` and ``Held``. ``bytes``: of each buffer that nodes keep."""

    def __init__(self, record: Record, backward: Backward) -> None:
        self.place, self.step, self.loss = backward.place, backward.step, backward.loss
        self.number = backward.number
        self.rows: list[Row] = []
        self.bytes: list[int] = []
        self.parameters: list[Held] = []
        self.calls: dict[Any, list[int]] = {}  # (site, name) of the calls of the forward pass: how many, nanoseconds
        self.turns = 0
        self.whole = True
        self.retained = bool(backward.options.get("retain_graph") or backward.options.get("create_graph"))
        self._at: dict[int, int] = {}  # id of a node, while the walk runs: its row
        self._take([node for (node, _), _ in backward.roots], record, backward)

    def _take(self, roots: list[Node], record: Record, backward: Backward) -> None:
        nodes = self._ordered(roots)
        self._at = at = {id(node): i for i, node in enumerate(nodes)}
        names, leaves = _Names(record), []
        buffers: dict[int, int] = {}
        for node in nodes:
            facts = node.__dict__
            shape = node.shape if node.outputs == 1 else node.shape[0]
            row = Row(node.name(), () if shape is None else shape, node.dtype if node.outputs == 1 else node.dtype[0])
            row.edges = [-1 if e is None else at.get(id(e[0]), -1) for e in node.edges]
            row.norms = [None] * len(row.edges)
            row.place = node_place(node)
            row.module = names.module(node_modules(node))
            row.forward = facts.get("_wg_forward")
            if node.is_leaf and hasattr(node, "variable"):
                leaves.append((len(self.rows), node.variable))
            else:
                row.saved = list(dict.fromkeys(self._buffer(buffers, a) for a in arrays_in(saved_of(node))))
            self.rows.append(row)
        for _, variable in leaves:  # parameters are there anyway
            number = buffers.get(id(base_of(variable._wg_data)))
            if number is not None:
                self.bytes[number] = 0
        self._parameters(leaves, record, backward)

    def _ordered(self, roots: list[Node]) -> list[Node]:
        """The nodes, oldest first; a leaf comes just before its first user."""
        seen: set[int] = set()
        nodes: list[Node] = []
        stack = list(roots)
        while stack:
            node = stack.pop()
            if id(node) in seen:
                continue
            if len(nodes) >= LIMIT:
                self.whole = False
                break
            seen.add(id(node))
            nodes.append(node)
            stack += [e[0] for e in node.edges if e is not None and id(e[0]) not in seen]
        ordered: list[Node] = []
        placed: set[int] = set()
        for node in sorted((n for n in nodes if not n.is_leaf), key=lambda n: -n.seq):
            for e in node.edges:
                if e is not None and e[0].is_leaf and id(e[0]) in seen and id(e[0]) not in placed:
                    placed.add(id(e[0]))
                    ordered.append(e[0])
            ordered.append(node)
        return ordered + [n for n in nodes if n.is_leaf and id(n) not in placed]

    def _buffer(self, buffers: dict[int, int], array: Any) -> int:
        base = base_of(array)
        number = buffers.get(id(base))
        if number is None:
            number = buffers[id(base)] = len(self.bytes)
            self.bytes.append(memory_of(base))
        return number

    # -- parameters ---------------------------------------------------------------------------------------------------

    def _parameters(self, leaves: list[tuple[int, Any]], record: Record, backward: Backward) -> None:
        known: dict[int, Held] = {}
        apart: list[tuple[Any, Held]] = []
        for p, name, label in labelled(record):
            held = known[id(p)] = Held(name, label, tuple(p._wg_data.shape), _wanted(p))
            apart.append((p, held))
        for i, variable in leaves:
            found = known.get(id(variable))
            if found is None:
                name = record.name_of(variable) or f"leaf {i}"
                found = Held(name, name, tuple(variable._wg_data.shape), True)
                apart.append((variable, found))
            found.node = i
        self.parameters = [held for _, held in apart]
        for i, held in enumerate(self.parameters):
            if held.node >= 0:
                self.rows[held.node].leaf = i
        if any(held.node < 0 for held in self.parameters):
            users = _users(backward.root)
            for p, held in apart:
                event = record.events.get(p) if held.node < 0 else None
                if event is not None:
                    way = _way(event, users)
                    cut = next((e for e in way[1:] if not passes(e)), None) if held.wanted else None
                    held.chain = [Link(e, e is cut) for e in way]

    # -- while the walk runs ------------------------------------------------------------------------------------------

    def gave(self, node: Node, grads: Any, nanoseconds: int) -> None:
        """``node`` gave ``grads``, after this time."""
        i = self._at.get(id(node))
        if i is None:
            return
        row = self.rows[i]
        row.backward = nanoseconds
        row.turn = self.turns
        self.turns += 1
        if grads is not None:
            row.norms = [None if e is None or g is None else norm_at(g, e) for g, e in zip(grads, node.edges)]

    def ended(self) -> None:
        """The walk has ended: nodes may be freed, and their ids used again."""
        self._at = {}


def root_names(record: Record) -> list[tuple[Module, str]]:
    """The root modules, and what they are called: by their class, or a variable where several have the same."""
    roots = record.roots()
    kinds = [type(root).__name__ for root in roots]
    variables = {id(v): n for n, v in main_variables().items() if isinstance(v, Module)}
    return [(root, f"{variables[id(root)]} ({kind})" if kinds.count(kind) > 1 and id(root) in variables else kind)
        for root, kind in zip(roots, kinds)]


def labelled(record: Record) -> list[tuple[Any, str, str]]:
    """The parameters of root modules and optimizers, their names, and what tells them from those of other modules."""
    named = record.named_parameters()
    rows = list(named.values())
    counts: dict[str, int] = {}
    for name, _, _ in rows:
        counts[name] = counts.get(name, 0) + 1
    names = {id(root): name.split(" ")[0] for root, name in root_names(record)}
    found = [(p, name, f"{names[id(root)]}.{name}" if counts[name] > 1 and id(root) in names else name)
        for name, p, root in rows]
    others = {id(p): p for p in record.held_parameters() if id(p) not in named}
    if others:
        variables = {id(v): n for n, v in main_variables().items() if not n.startswith("_")}
        found += [(p, variables[i], variables[i]) for i, p in others.items() if i in variables]
    return found


class _Names:
    """The paths of modules, looked up once for a snapshot."""

    def __init__(self, record: Record) -> None:
        self.paths: dict[int, tuple[str, ...]] = {}
        for root, name in root_names(record):
            for path, m in root.named_modules():
                self.paths.setdefault(id(m), (name, *path.split(".")) if path else (name,))

    def module(self, modules: tuple[Module, ...]) -> tuple[str, ...]:
        """The name of the root, and the parts of the path from there; empty outside of modules."""
        if not modules:
            return ()
        return self.paths.get(id(modules[-1])) or (type(modules[-1]).__name__,)


def _wanted(p: Any) -> bool:
    return p._wg_edge is not None or (p._wg_meta is not None and p._wg_meta.requires_grad)


# -- arrays -----------------------------------------------------------------------------------------------------------


def saved_of(node: Any) -> Any:
    """What a node keeps for its backward; tensors and arrays are somewhere in it."""
    inner, context = getattr(node, "fn", None), getattr(node, "_wg_context", None)
    return [getattr(node, "saved", None), getattr(inner, "saved", None),
        [s.array for s in getattr(context, "_wg_saved", None) or () if s is not None]]


def arrays_in(value: Any, depth: int = 4) -> Iterator[Any]:
    """The arrays in nested lists."""
    if isinstance(value, (list, tuple)):
        if depth:
            for v in value:
                if type(v) is not int:
                    yield from arrays_in(v, depth - 1)
    elif isinstance(value, np.ndarray):
        yield value
    elif isinstance(getattr(value, "_wg_data", None), np.ndarray):
        yield value._wg_data
    elif type(value) not in (int, float, str, bool, type(None)) and memory_of(value):
        yield value


def memory_of(array: Any) -> int:
    """The bytes of an array; 0 where it does not say (sparse ones)."""
    try:
        size = getattr(array, "nbytes", 0)
    except NotImplementedError:
        return 0
    return size if isinstance(size, int) else 0


def base_of(array: Any) -> Any:
    """The array whose memory an array looks at."""
    while isinstance(getattr(array, "base", None), np.ndarray):
        array = array.base
    return array


def norm_at(g: Any, edge: Any) -> float | None:
    """The norm of a gradient as it arrives at the other end of an edge."""
    to, number = edge
    return norm_in(g, to.shape if to.outputs == 1 else to.shape[number])


def norm_in(g: Any, shape: Any) -> float | None:
    """The norm of a gradient, an array or a tensor, once it is summed to ``shape``."""
    a = g if isinstance(g, np.ndarray) else getattr(g, "_wg_data", None)
    if not isinstance(a, np.ndarray):
        return None
    if shape is not None and a.shape != tuple(shape):
        try:
            a = sum_to(a, tuple(shape))
        except (ValueError, TypeError):
            return None
    return norm(a)


def norm(a: Any) -> float | None:
    """The Euclidean norm of an array, without overflow or underflow on the way; None for other things than arrays."""
    if type(a) is not np.ndarray:
        return None
    flat, kind = a.ravel(), a.dtype.char
    if kind not in "fd":
        if not flat.size:
            return 0.0
        flat = np.abs(flat) if kind in "FD" else flat.astype(np.float32)
    square = float(flat.dot(flat))
    if 1e-30 < square < inf:
        return sqrt(square)
    if square != square:
        return square
    largest = float(np.abs(flat).max(initial=0))
    if not largest or not isfinite(largest):
        return largest
    flat = flat.astype(np.float64) / largest
    return largest * sqrt(float(flat.dot(flat)))


# -- events -----------------------------------------------------------------------------------------------------------


def _users(roots: Iterable[Event]) -> dict[int, Event | None]:
    """By id of every event that the roots were made from: the event that it went into, on a shortest way."""
    users: dict[int, Event | None] = {id(e): None for e in roots}
    todo, i = list(roots), 0
    while i < len(todo) and i < SEARCHED:
        event = todo[i]
        i += 1
        for e in event.inputs:
            if id(e) not in users:
                users[id(e)] = event
                todo.append(e)
    return users


def _way(event: Event, users: dict[int, Event | None]) -> list[Event]:
    """The events from ``event`` to a root; empty if it leads to none."""
    found: list[Event] = []
    step: Event | None = event
    if id(event) not in users:
        return found
    while step is not None:
        found.append(step)
        step = users[id(step)]
    return found
