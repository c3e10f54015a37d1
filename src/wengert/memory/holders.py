"""What stands in a graph where a block does not save: holders, which know what they stand for.

A block is recorded as without a plan. After each operation the arrays that its nodes hold are taken out of them, unless
they are kept, and ``Holder``s put in. A holder stands for a value of the program, or for the n-th array that the nodes
of an operation held and that is no such value. Operations whose nodes are not those of declared operators (custom
Functions) run under saved-tensor hooks instead.
"""

from __future__ import annotations

import weakref
from functools import partial
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
    from collections.abc import Callable, Iterator

    from .segments import Segment
    from .trace import Operation

ALL = None  # what a block keeps that keeps everything
Place = tuple[int, int]  # in the memory of a node: the entry, and the number in it where that is a list; -1: no list


class Holder:
    """``block``, ``operation``: whose it is. ``name``: the value that it stands for, ``number``: which of the tensors
    in it, seen as ``view`` says. Without a name, ``number`` counts what the operation held.

    ``node``, ``place``: what it was taken out of. Without a node, ``tensor`` is given to the one who asks.
    """

    __slots__ = ("__weakref__", "block", "filled", "name", "node", "number", "operation", "place", "tensor", "view")

    def __init__(self, block: int, operation: int, number: int) -> None:
        self.block, self.operation, self.number = block, operation, number
        self.name: str | None = None
        self.view: tuple[Any, ...] | None = None
        self.node: weakref.ref[Any] | None = None
        self.place: Place = 0, -1
        self.tensor: Any = None
        self.filled = False

    def stand_for(self, name: str, number: int, array: np.ndarray) -> None:
        """It is a value of the program."""
        self.name, self.number = name, number
        start = array.__array_interface__["data"][0] - base_of(array).__array_interface__["data"][0]
        self.view = array.shape, array.strides, start

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

    def _seen(self, t: Any) -> Any:
        array = t._wg_data
        shape, strides, start = self.view or ((), (), 0)
        base = base_of(array)
        here = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        if array.shape == shape and array.strides == strides and here == start:
            return array
        item = array.itemsize
        return t.detach().as_strided(shape, [s // item for s in strides], start // item)._wg_data


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
        if node.seq >= since or id(node) in found or node.is_leaf:
            continue
        found[id(node)] = node
        todo += [edge[0] for edge in node.edges if edge is not None]
        todo += getattr(node, "parts", ())
    return iter(sorted(found.values(), key=lambda node: -node.seq))


def is_declared(node: Any) -> bool:
    """Whether a node's memory is laid out as that of a declared operator, or of parts that are such nodes."""
    return isinstance(node, OpNode) or hasattr(node, "parts")


def memory_of(value: Any, since: int) -> Iterator[tuple[Any, Place, np.ndarray]]:
    """The arrays that the nodes of a value hold: node, place, array."""
    for node in nodes_since(value, since):
        if not isinstance(node, OpNode) or node.saved is None:
            continue
        saved, own = node.saved, 3 * len(node.op.saved)
        for at in (*range(0, own, 3), *range(own, len(saved))):
            entry = saved[at]
            if isinstance(entry, np.ndarray):
                yield node, (at, -1), entry
            elif type(entry) is list and at < own:
                for number, array in enumerate(entry):
                    if isinstance(array, np.ndarray):
                        yield node, (at, number), array


class Recorder:
    """Takes out of the graph of one block what is not kept. ``keep``: names of operations whose results are kept, and
    what else they hold; None for all. The block's inputs are always taken out.

    ``sizes``: the bytes that the graph would hold, by value (``=name``) and by operation, of its own.
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
        self.open: list[tuple[Holder, Any]] = []  # what hooks were given by the operation that is running
        for name in env:
            self.learn(name, env[name])

    def learn(self, name: str, value: Any) -> int:
        """A value is there: how many tensors are in it."""
        found = tensors_of(value)
        self.grads[name] = [t.requires_grad for t in found]
        for number, t in enumerate(found):
            base = storage(t)
            key = id(base)
            if key in self.known and not self.segment.inplace:
                continue
            gone = weakref.ref(base, partial(_forget, self.known, key))
            self.known[key] = name, number, t._wg_data.dtype, gone
        return len(found)

    def ended(self, op: Operation, value: Any, since: int, unpack: Callable[[Any], Any]) -> None:
        """An operation has given its value. ``unpack``: gives the tensor for a holder that was not filled in time."""
        if self.learn(op.name, value) == 0:
            pass  # a number
        elif op.name in self.segment.hooked:
            for holder, t in self.open:
                if self._kept(op, holder, t._wg_data):
                    holder.tensor, holder.filled = t, True
            self.open.clear()
        else:
            self._take(op, value, since, unpack)
        self.at += 1
        self.count = 0

    def _take(self, op: Operation, value: Any, since: int, unpack: Callable[[Any], Any]) -> None:
        taken: dict[int, tuple[Any, list[tuple[Place, Holder]]]] = {}
        for node, place, array in memory_of(value, since):
            number = self.count
            self.count += 1
            if id(base_of(array)) in self.constant:
                continue
            holder = Holder(self.block, self.at, number)
            if not self._kept(op, holder, array):
                holder.node, holder.place = weakref.ref(node), place
                self.holders.append(weakref.ref(holder))
                taken.setdefault(id(node), (node, []))[1].append((place, holder))
        for node, row in taken.values():
            if len(row) == 1 and row[0][0][1] < 0:
                put(node, row[0][0], Packed(row[0][1], unpack))
            else:
                for place, holder in row:
                    put(node, place, Packed(holder, unpack))

    def _kept(self, op: Operation, holder: Holder, array: np.ndarray) -> bool:
        """Say what a holder stands for, and whether that is kept."""
        base = base_of(array)
        known = self.known.get(id(base))
        if known is None or known[2] != array.dtype:
            self.sizes[op.name] = self.sizes.get(op.name, 0) + array.nbytes
            return self.keep is ALL or op.name in self.keep
        holder.stand_for(known[0], known[1], array)
        self.sizes[f"={known[0]}"] = base.nbytes
        return known[0] not in self.inputs and (self.keep is ALL or known[0] in self.keep)

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


def _forget(known: dict[int, Any], key: int, _: Any) -> None:
    known.pop(key, None)


def begin() -> int:
    """A number; nodes that are made from now on have lower ones."""
    return next_sequence()
