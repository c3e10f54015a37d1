"""The graph that a picture shows, in plain numbers and names: it keeps no tensors, arrays or nodes alive."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes
from ..arrays.flags import IGNORED, quieten, restore
from ..autograd._saved_names import names as saved_names
from ..diagnose.record import node_place
from ..diagnose.snapshot import arrays_in, base_of, memory_of, norm, norm_in, saved_of
from ..tensor.record import OpNode
from .recording import NORMS
from .text import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..diagnose.places import Place
    from ..tensor import Tensor
    from .names import Names

# what a thing of the picture is
OPERATION, LEAF, INPUT, RESULT = "operation", "leaf", "input", "result"


@dataclass(slots=True)
class Saved:
    """What an operation keeps for its backward. ``bytes``: of the memory that nothing before it in the graph has kept;
    ``note``: whose memory it is otherwise.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    note: str = ""


@dataclass(slots=True)
class Item:
    """A thing of the graph: an operation, a leaf that requires a gradient, an input that does not, a result.

    ``shape``, ``dtype``: of the value (of an operation with several: of the first, ``outputs`` of them). ``value``: of
    a result with one element. ``bytes``: of a leaf or input.
    """

    kind: str
    name: str
    shape: tuple[int, ...] | None
    dtype: str
    outputs: int = 1
    variable: str = ""
    value: str = ""
    bytes: int = 0
    saved: list[Saved] = field(default_factory=list)
    freed: bool = False
    place: Place | None = None
    modules: tuple[tuple[Any, str, str], ...] = ()
    leaf: weakref.ref[Any] | None = None

    @property
    def gradient(self) -> float | None:
        """The norm of the gradient that a leaf has by now; None without one."""
        tensor = None if self.leaf is None else self.leaf()
        meta = None if tensor is None else tensor._wg_meta
        return None if meta is None or meta.grad is None else _norm(meta.grad)


@dataclass(slots=True)
class Arrow:
    """A value on its way from ``source`` to ``target``, by their numbers; its gradient comes back. ``norm``: of that,
    once there was a backward. ``slot``: which edge of the node of ``target`` it is; -1: of none.
    """

    source: int
    target: int
    slot: int = -1
    shape: tuple[int, ...] | None = None
    norm: float | None = None


class Graph:
    """``items``, oldest first, and ``arrows``. ``saved``: the bytes that all operations keep, memory counted once.

    >>> import wengert as torch
    >>> x = torch.ones(3, requires_grad=True)
    >>> graph = torch.draw((x * 2).sum()).graph
    >>> [(item.kind, item.name) for item in graph.items]
    [('leaf', 'x'), ('operation', 'MulBackward0'), ('operation', 'SumBackward0'), ('result', 'result')]
    >>> [(a.source, a.target) for a in graph.arrows]
    [(0, 1), (1, 2), (2, 3)]
    """

    def __init__(self, roots: Iterable[tuple[str, Tensor]], names: Names,
            inputs: Iterable[tuple[str, Tensor]] = ()) -> None:
        self.items: list[Item] = []
        self.arrows: list[Arrow] = []
        self.nodes: dict[int, weakref.ref[Any]] = {}  # by the number of an operation
        self._names = names
        self._at: dict[int, int] = {}  # by the identity of a node: the number of its item
        self._memory: dict[int, str] = {}  # by the identity of an array: who has kept it before
        self._givers: dict[int, int] = {}  # by the identity of an input's array: its number
        ends = [(name, t, t.grad_fn) for name, t in roots]
        nodes = ordered(node for _, _, node in ends if node is not None)
        for name, t in inputs:
            if not t.requires_grad:
                self._givers[id(base_of(t._wg_data))] = self._add(self._plain(INPUT, name, t))
                self._memory[id(base_of(t._wg_data))] = name
        for node in nodes:
            if node.is_leaf and (variable := getattr(node, "variable", None)) is not None:
                self._memory[id(base_of(variable._wg_data))] = names.leaf(variable) or "a leaf"
        for node in nodes:
            self._node(node)
        for name, t, node in ends:
            self._result(name, t, node)
        self._drop_unused()
        self._at, self._memory, self._givers = {}, {}, {}  # others may get these identities
        del self._names  # which keeps tensors
        self.saved = sum(s.bytes for item in self.items for s in item.saved)

    def _add(self, item: Item) -> int:
        self.items.append(item)
        return len(self.items) - 1

    def _plain(self, kind: str, name: str, t: Tensor) -> Item:
        a: Any = t._wg_data
        item = Item(kind, name, tuple(t.shape), _dtype(a.dtype), bytes=memory_of(a))
        if kind == LEAF:
            item.leaf = weakref.ref(t)
        return item

    def _node(self, node: Any) -> None:
        variable = getattr(node, "variable", None) if node.is_leaf else None
        if variable is not None:
            self._at[id(node)] = self._add(self._plain(LEAF, self._names.leaf(variable) or "leaf", variable))
            return
        several = node.outputs != 1
        item = Item(OPERATION, node.name().removeprefix("torch::autograd::"), node.shape[0] if several else node.shape,
            _dtype(node.dtype[0] if several else node.dtype), node.outputs, self._names.value(node),
            place=node_place(node), modules=self._names.modules(node))
        at = self._at[id(node)] = self._add(item)
        self.nodes[at] = weakref.ref(node)
        norms = node.__dict__.get(NORMS, ())
        for slot, edge in enumerate(node.edges):
            source = None if edge is None else self._at.get(id(edge[0]))
            if source is not None:
                to, number = edge
                self.arrows.append(Arrow(source, at, slot, to.shape if to.outputs == 1 else to.shape[number],
                    norms[slot] if slot < len(norms) else None))
        self._saves(node, item, at)

    def _saves(self, node: Any, item: Item, at: int) -> None:
        """Note what an operation keeps."""
        givers = set()
        for name, array in kept_by(node):
            base = base_of(array)
            giver = self._givers.get(id(base))
            if giver is not None and giver not in givers:
                givers.add(giver)
                self.arrows.append(Arrow(giver, at))
            owner = self._memory.get(id(base))
            item.saved.append(Saved(name, tuple(array.shape), _dtype(array.dtype),
                memory_of(base) if owner is None else 0, owner or ""))
            if owner is None:
                self._memory[id(base)] = item.variable or item.name
        item.freed = not item.saved and is_freed(node)

    def _result(self, name: str, t: Tensor, node: Any) -> None:
        if node is None:
            self._add(self._plain(LEAF if t.requires_grad else INPUT, self._names.leaf(t) or name, t))
            return
        item = self._plain(RESULT, name, t)
        item.bytes, a = 0, t._wg_data
        if isinstance(a, np.ndarray) and a.size == 1 and a.dtype.kind in "fiub":
            item.value = number(float(a.reshape(-1)[0]))
        made = self.items[self._at[id(node)]]
        made.variable = "" if made.variable == name else made.variable  # it stands in the next box
        self.arrows.append(Arrow(self._at[id(node)], self._add(item)))

    def _drop_unused(self) -> None:
        """Leave out inputs that no operation is seen to keep."""
        used = {arrow.source for arrow in self.arrows}
        gone = [i for i in self._givers.values() if i not in used]
        if not gone:
            return
        moved: dict[int, int] = {}
        items: list[Item] = []
        for i, item in enumerate(self.items):
            if i not in gone:
                moved[i] = len(items)
                items.append(item)
        self.items = items
        self.nodes = {moved[i]: node for i, node in self.nodes.items()}
        for arrow in self.arrows:
            arrow.source, arrow.target = moved[arrow.source], moved[arrow.target]


def ordered(roots: Iterable[Any]) -> list[Any]:
    """The nodes that the gradients of ``roots`` come to, oldest first; a leaf stands before its first user."""
    seen: dict[int, Any] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            stack += [e[0] for e in node.edges if e is not None]
    found: dict[int, Any] = {}
    for node in sorted((n for n in seen.values() if not n.is_leaf), key=lambda n: -n.seq):
        found.update((id(e[0]), e[0]) for e in node.edges if e is not None and e[0].is_leaf)
        found[id(node)] = node
    return list(found.values())


def kept_by(node: Any) -> Iterator[tuple[str, Any]]:
    """What a node keeps for its backward: PyTorch's names, and arrays."""
    for part in (node, *sorted(getattr(node, "parts", ()), key=lambda n: -n.seq)):
        if not isinstance(part, OpNode):
            for i, array in enumerate(arrays_in(saved_of(part))):
                yield f"saved[{i}]", array
        elif part.saved is not None:
            op = part.op
            theirs = {ours: name for name, ours in saved_names(op, part.name()).items()}
            for i, key in enumerate((*op.saved, *op.consts)):
                value = part.saved[3 * i] if i < len(op.saved) else part.saved[2 * len(op.saved) + i]
                for array in arrays_in([value]):
                    yield theirs.get(key, "self" if key == "input" else key), array


def is_freed(node: Any) -> bool:
    """Whether a backward has freed what the node kept."""
    if node.written_by_user:
        return getattr(getattr(node, "_wg_context", None), "_wg_saved", ()) is None
    parts = getattr(node, "parts", None)
    return not parts if parts is not None else isinstance(node, OpNode) and node.saved is None


def watch(graph: Graph, arrows: Iterable[Arrow]) -> None:
    """Note the norms of the gradients on ``arrows`` in every backward from now on."""
    rows: dict[int, list[Arrow]] = {}
    for arrow in arrows:
        if arrow.target in graph.nodes and arrow.slot >= 0:
            rows.setdefault(arrow.target, []).append(arrow)
    for at, row in rows.items():
        node = graph.nodes[at]()
        if node is not None:
            node.register_hook(_noting(row, node.visible_edges()))


def _noting(row: list[Arrow], places: tuple[int, ...] | None) -> Any:
    def note(grads: Any, _: Any) -> None:
        quiet = quieten(IGNORED)
        try:
            for arrow in row:
                g = grads[arrow.slot if places is None else places.index(arrow.slot)]
                arrow.norm = None if g is None else norm_in(g, arrow.shape)
        finally:
            restore(quiet)

    return note


def _norm(t: Any) -> float | None:
    quiet = quieten(IGNORED)
    try:
        return norm(t._wg_data)
    finally:
        restore(quiet)


def _dtype(kind: Any) -> str:
    try:
        return str(dtypes.of(kind)).removeprefix("torch.")
    except TypeError:
        return str(kind)
