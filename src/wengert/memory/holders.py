"""What stands in a graph where a block does not save: holders, which know what they stand for.

A block is recorded as without a plan. At its end the arrays that its nodes hold are taken out of them, unless they
are kept, and ``Holder``s put in. (That needs no more memory than the block's backward will.) Where operations write
in place, or give several tensors, that is done after each of them. A holder stands for a value of the program, or for
the n-th array that the nodes of an operation held and that is no such value. Operations whose nodes are not those of
declared operators (custom Functions) run under saved-tensor hooks instead.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..diagnose.snapshot import base_of
from ..graph.node import next_sequence
from ..tensor import Tensor
from ..tensor.record import OpNode
from ..tensor.saved_tensor_hooks import UNVERSIONED, changed
from ..tensor.version_check import Packed
from .values import storage, tensors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .segments import Segment
    from .trace import Operation

ALL = None  # what a block keeps that keeps everything
Template = tuple[list[Any], dict[str, list[bool]]]
Place = tuple[int, int]  # in the memory of a node: the entry, and the number in it where that is a list; -1: no list


class Holder:
    """``block``, ``operation``: whose it is. ``name``: the value that it stands for, ``number``: which of the tensors
    in it, seen as ``view`` says. Without a name, ``number`` counts what the operation held.

    ``node``, ``place``: what it was taken out of. Without a node, ``tensor`` is given to the one who asks.
    ``unread``: shape and type, where a plain backward does not look at the numbers.
    """

    __slots__ = ("__weakref__", "block", "filled", "name", "node", "number", "operation", "place", "tensor",
        "unread", "view")

    def __init__(self, block: int, operation: int, number: int) -> None:
        self.block, self.operation, self.number = block, operation, number
        self.name: str | None = None
        self.view: tuple[Any, ...] | None = None
        self.node: weakref.ref[Any] | None = None
        self.place: Place = 0, -1
        self.unread: tuple[Any, Any] | None = None
        self.tensor: Any = None
        self.filled = False

    def stand_for(self, name: str, number: int, array: np.ndarray) -> None:
        """It is a value of the program."""
        self.name, self.number = name, number
        self.view = array.shape, array.strides, start_of(array, base_of(array))

    def fill(self, value: Any) -> None:
        """The value that it stands for is there; without a name, the array."""
        if self.name is None:
            array = value
        else:
            t = tensors_of(value)[self.number]
            array = self._seen(t)
        self.filled = True
        node = None if self.node is None else self.node()
        if self.node is None:
            self.tensor = array if isinstance(array, Tensor) else _wrapped(array)
        elif node is not None and node.saved is not None:
            put(node, self.place, array)

    def blank(self) -> None:
        """Nobody will look at the numbers: an array without memory of its own will do."""
        shape, dtype = self.unread or ((), None)
        self.fill(np.broadcast_to(np.zeros((), dtype), shape))

    def _seen(self, t: Any) -> Any:
        array = t._wg_data
        shape, strides, start = self.view or ((), (), 0)
        if array.shape == shape and array.strides == strides and start_of(array, base_of(array)) == start:
            return array
        item = array.itemsize
        return t.detach().as_strided(shape, [s // item for s in strides], start // item)._wg_data


def start_of(array: Any, base: Any) -> int:
    """Where in the memory of ``base`` an array begins, in bytes."""
    if array is base or (array.nbytes == base.nbytes and array.flags.c_contiguous):
        return 0
    return int(array.__array_interface__["data"][0] - base.__array_interface__["data"][0])


def _wrapped(array: Any) -> Any:
    from ..tensor.tensor import wrap

    return wrap(array)


def put(node: Any, place: Place, array: Any) -> None:
    """Write to the memory of a node."""
    at, number = place
    if number < 0:
        node.saved = (changed(node.saved, at, (array, UNVERSIONED, 0)) if at < 3 * len(node.op.saved)
            else (*node.saved[:at], array, *node.saved[at + 1 :]))
    else:
        row, counters, versions = (list(x) for x in node.saved[at : at + 3])
        row[number], counters[number], versions[number] = array, UNVERSIONED, 0
        node.saved = changed(node.saved, at, (row, counters, versions))


def nodes_since(value: Any, since: int) -> Iterator[Any]:
    """The nodes that lead to a value and were made after this number was drawn, in their order."""
    found: dict[int, Any] = {}
    todo = [t._wg_edge[0] for t in tensors_of(value) if t._wg_edge is not None]
    while todo:
        node = todo.pop()
        if node.seq >= since or node.is_leaf or id(node) in found:
            continue
        found[id(node)] = node
        todo += [edge[0] for edge in node.edges if edge is not None and edge[0].seq < since]
        if type(node) is not OpNode:
            todo += getattr(node, "parts", ())
    return iter(sorted(found.values(), key=_by_age) if len(found) > 1 else found.values())


def _by_age(node: Any) -> int:
    return -node.seq  # type: ignore[no-any-return]


def is_declared(node: Any) -> bool:
    """Whether a node's memory is laid out as that of a declared operator, or of parts that are such nodes."""
    return isinstance(node, OpNode) or hasattr(node, "parts")


def memory_of(value: Any, since: int) -> Iterator[tuple[Any, Place, np.ndarray]]:
    """The arrays that the nodes of a value hold: node, place, array."""
    for node in nodes_since(value, since):
        for place, array in arrays_of(node):
            yield node, place, array


def arrays_of(node: Any) -> Iterator[tuple[Place, np.ndarray]]:
    """The arrays that a node holds, with their places."""
    if not isinstance(node, OpNode) or node.saved is None:
        return
    saved, own = node.saved, 3 * len(node.op.saved)
    for at, entry in enumerate(saved):
        if at < own and at % 3:
            continue
        if isinstance(entry, np.ndarray):
            yield (at, -1), entry
        elif type(entry) is list and at < own:
            for number, array in enumerate(entry):
                if isinstance(array, np.ndarray):
                    yield (at, number), array


def _is_unread(node: Any, place: Place) -> bool:
    """Whether a plain backward does not look at an array of a node."""
    names = node.op.saved
    return place[0] < 3 * len(names) and names[place[0] // 3] in node.op.unread


class Recorder:
    """Takes out of the graph of one block what is not kept. ``keep``: names of operations whose results are kept, and
    what else they hold; None for all. The block's inputs are always taken out.

    ``sizes``: the bytes that the graph would hold, by value (``=name``) and by operation, of its own. ``unread``: those
    that only a block which keeps all keeps, as a plain backward does not look at them.
    """

    def __init__(self, block: int, segment: Segment, env: dict[str, Any], keep: frozenset[str] | None,
            constant: set[int]) -> None:
        self.block, self.segment, self.keep, self.constant = block, segment, keep, constant
        self.at = self.count = 0
        self.holders: list[weakref.ref[Holder]] = []
        self.known: dict[int, tuple[str, int, Any, Any]] = {}  # by the identity of an array
        self.inputs = set(env)
        self.grads: dict[str, list[bool]] = {}
        self.sizes: dict[str, int] = {}
        self.unread = 0
        self.marks: list[int] = []  # by operation what ``begin`` gave
        self.taken: dict[int, tuple[Any, list[tuple[Place, Holder]]]] = {}  # by the identity of a node
        self.done: set[int] = set()  # operations whose arrays have been taken out
        self.open: list[tuple[Holder, Any]] = []  # what hooks were given by the operation that is running
        for name in env:
            self.learn(name, env[name])

    def learn(self, name: str, value: Any) -> int:
        """A value is there: how many tensors are in it."""
        found = [value] if type(value) is Tensor else tensors_of(value)
        self.grads[name] = [(t._wg_edge is not None and not t._wg_edge[0].is_leaf) or t.requires_grad for t in found]
        for number, t in enumerate(found):
            base = base_of(t._wg_data)
            known = self.known.get(id(base))
            if known is None or known[3]() is not base or self.segment.inplace:
                self.known[id(base)] = name, number, t._wg_data.dtype, weakref.ref(base)
        return len(found)

    def ended(self, op: Operation, value: Any, since: int, unpack: Callable[[Any], Any]) -> None:
        """An operation has given its value. ``unpack``: gives the tensor for a holder that was not filled in time."""
        self.marks.append(since)
        if self.learn(op.name, value) == 0:
            pass  # a number
        elif op.name in self.segment.hooked:
            for holder, t in self.open:
                if self._kept(op, holder, t._wg_data):
                    holder.tensor, holder.filled = t, True
            self.open.clear()
            self.done.add(self.at)
        elif self.segment.inplace or not isinstance(value, Tensor):
            self._take(((self.at, node) for node in nodes_since(value, since)), unpack)
            self.done.add(self.at)
        self.at += 1
        self.count = 0

    def finish(self, env: dict[str, Any], unpack: Callable[[Any], Any]) -> None:
        """The block has ended: take out what its nodes hold, where that was not done before."""
        if len(self.done) < self.at:
            self._take(self._by_operation(self._nodes(env)), unpack)

    def _by_operation(self, nodes: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Nodes, the oldest first, with the numbers of the operations that made them."""
        at, last = 0, len(self.marks) - 1
        for node in nodes:
            while at < last and node.seq < self.marks[at + 1]:
                at += 1
            if at not in self.done:
                yield at, node

    def _take(self, nodes: Iterable[tuple[int, Any]], unpack: Callable[[Any], Any]) -> None:
        before = count = -1
        for at, node in nodes:
            if at != before:
                before, count = at, 0
            op = self.segment.operations[at]
            taken: list[tuple[Place, Holder]] = []
            for place, array in arrays_of(node):
                number, count = count, count + 1
                if id(base_of(array)) in self.constant:
                    continue
                holder = Holder(self.block, at, number)
                if self.keep is not ALL and _is_unread(node, place):
                    holder.unread = array.shape, array.dtype
                if not self._kept(op, holder, array):
                    holder.node, holder.place = weakref.ref(node), place
                    self.holders.append(weakref.ref(holder))
                    taken.append((place, holder))
            for place, holder in taken:
                put(node, place, Packed(holder, unpack))
            if taken:
                self.taken[id(node)] = node, taken

    def template(self, env: dict[str, Any]) -> Template:
        """What was taken out of which node: another step need not ask."""
        rows: list[Any] = []
        for node in self._nodes(env):
            found = self.taken.get(id(node))
            rows.append((getattr(node, "op", type(node)), [] if found is None else
                [(place, h.operation, h.name, h.number, h.view, h.unread) for place, h in found[1]]))
        self.taken.clear()
        return rows, self.grads

    def follow(self, template: Template, env: dict[str, Any], unpack: Callable[[Any], Any]) -> bool:
        """Take out what a template says, unless the graph is another one."""
        rows, self.grads = template
        nodes = list(self._nodes(env))
        if len(nodes) != len(rows) or any(getattr(node, "op", type(node)) is not row[0] for node, row in
                zip(nodes, rows)):
            return False
        for node, (_, places) in zip(nodes, rows):
            for place, operation, name, number, view, unread in places:
                holder = Holder(self.block, operation, number)
                holder.name, holder.view, holder.place, holder.node = name, view, place, weakref.ref(node)
                holder.unread = unread
                self.holders.append(weakref.ref(holder))
                put(node, place, Packed(holder, unpack))
        return True

    def _nodes(self, env: dict[str, Any]) -> Iterator[Any]:
        return nodes_since([env[name] for name in self.segment.outputs], self.marks[0])

    def _kept(self, op: Operation, holder: Holder, array: np.ndarray) -> bool:
        """Say what a holder stands for, and whether that is kept."""
        base = base_of(array)
        known = self.known.get(id(base))
        if known is None or known[3]() is not base or known[2] != array.dtype:
            if holder.unread is not None:
                self.unread += array.nbytes
                return False
            self.sizes[op.name] = self.sizes.get(op.name, 0) + array.nbytes
            return self.keep is ALL or op.name in self.keep
        holder.unread = None
        holder.stand_for(known[0], known[1], array)
        self.sizes[f"={known[0]}"] = base.nbytes
        return known[0] not in self.inputs and (self.keep is ALL or (known[0] in self.keep
            and known[0] not in self.segment.changing))

    def pack(self, t: Any) -> Any:
        """A tensor is saved by an operation that runs under hooks."""
        number = self.count
        self.count += 1
        if id(storage(t)) in self.constant:
            return t
        holder = Holder(self.block, self.at, number)
        self.holders.append(weakref.ref(holder))
        self.open.append((holder, t.detach()))
        return holder


def begin() -> int:
    """A number; nodes that are made from now on have lower ones."""
    return next_sequence()
