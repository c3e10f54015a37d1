"""Nodes that stand for several of PyTorch's, taken apart when somebody looks at what lies below them.

A linear layer and a subscript of several parts are one step with us. Whoever asks for ``next_functions`` gets the steps
that PyTorch would have recorded, as nodes of the graph that run and take hooks like any other; nobody else pays for them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import kernels as K
from ..graph.engine import apart, current_walk, others_walk, taking_apart
from ..graph.node import Node
from ..ops.operator import TABLE
from .damage import Packed
from .packing import UNVERSIONED
from .record import OpNode, node_class, renamed

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.node import Edge


def unfold(node: OpNode) -> None:
    """Take ``node`` apart, if there is something to take apart. Not while a gradient is under way, in whatever thread."""
    if current_walk() is None:
        with apart:
            taking_apart.append(node)
            try:
                if node.op.name in UNFOLDING and not node.__dict__.get("_unfolded") and not others_walk():
                    node.__dict__["_unfolded"] = True
                    UNFOLDING[node.op.name](node)
            finally:
                taking_apart.pop()


def step(after: OpNode, part: float, name: str, consts: tuple[Any, ...], edge: Edge, shape: tuple[int, ...], shown: str | None = None) -> Edge:
    """An edge to a new node of the operator ``name``, older than ``after`` by a ``part`` of the distance to its inputs."""
    kind = node_class(TABLE[name])  # type: ignore[arg-type]
    node: Any = OpNode.__new__(kind if shown is None else renamed(kind, shown, True))
    node.saved, node.edges, node.hooks, node.seq, node.shape, node.dtype = consts, (edge,), None, after.seq + part, shape, after.dtype
    node.__dict__.update(_unfolded=True, _sequence=after._sequence_nr())
    return node, 0


def shape_at(edge: Edge | None) -> Any:
    """The shape of what the edge leads to."""
    return None if edge is None else edge[0].shape if edge[0].outputs == 1 else edge[0].shape[edge[1]]


# -- a linear layer: the product with the weight's transpose, between views where the input is no matrix ------------------


class Product(OpNode):
    """The product of a linear layer: the node of the layer, on matrices, with an edge to the weight's transpose.

    ``_own``: the edges of the layer, the bias' first; ``_full``: the shape of its result, if that is not a matrix. A product
    without a bias has no edge for it.
    """

    __slots__ = ()

    next_functions = Node.next_functions
    stages = None

    def _edge_to(self, name: str, index: int = 0) -> Any:
        return self.__dict__["_own"][self.op.wrt.index(name)] if name in self.op.wrt else None

    def _gradients(self, space: Any, g: Any, needs: Any, values: Any = None) -> Any:
        full, own = self.__dict__["_full"], self.__dict__["_own"]
        biased = len(needs) == len(own)
        grads = list(super()._gradients(space, g if full is None else space.reshape(g, full), needs if biased else (False, *needs)))
        at = self.op.wrt.index("input")
        if full is not None and grads[at] is not None:
            grads[at] = space.reshape(grads[at], (-1, shape_at(own[at])[-1]))
        at = self.op.wrt.index("weight")
        if grads[at] is not None:
            grads[at] = space.t(grads[at])
        return grads if biased else grads[1:]


def _linear(node: Any) -> None:
    bias, source, weight = node.edges
    if (weight is not None and len(shape_at(weight)) != 2) or len(node.shape) == 0:
        return
    biased = node.shown().name() in ("AddmmBackward0", "ViewBackward0")
    outer, shape = node.shown().name(), node.shape
    flat = (math.prod(shape[:-1]), shape[-1])
    to_weight = None if weight is None else step(node, 0.5, "t", (), weight, tuple(reversed(shape_at(weight))))
    kind = _products.setdefault(biased, type("AddmmBackward0" if biased else "MmBackward0", (Product, node_class(node.op)), {
        "__slots__": (), "shown": OpNode.shown, "name": OpNode.name, "__module__": "torch.autograd.graph"}))  # fmt: skip
    if len(shape) == 2:
        node.__dict__.update(_own=node.edges, _full=None)
        node.edges = (bias, source, to_weight) if biased else (source, to_weight)
        node.__class__ = kind
        return
    one = len(shape) == 1 and not biased
    width = 0 if source is None else shape_at(source)[-1]
    before = None if source is None else (
        step(node, 0.75, "unsqueeze", (0,), source, (1, width)) if one
        else step(node, 0.75, "reshape", (shape_at(source),), source, (flat[0], width))
    )  # fmt: skip
    core: Any = OpNode.__new__(kind)
    core.saved, core.hooks, core.seq, core.shape, core.dtype = node.saved, None, node.seq + 0.25, flat, node.dtype
    core.edges = (bias, before, to_weight) if biased else (before, to_weight)
    core.__dict__.update(_own=node.edges, _full=shape, _unfolded=True, _sequence=node._sequence_nr())
    if "tangents" in node.__dict__:
        core.__dict__["tangents"] = node.__dict__.pop("tangents")
    last = "squeeze" if one else "reshape"
    consts = {"input_shape": flat, "dim": 0}
    node.saved, node.edges = tuple(consts[c] for c in TABLE[last].consts), ((core, 0),)  # type: ignore[union-attr]
    node.__class__ = renamed(node_class(TABLE[last]), outer, True)  # type: ignore[arg-type]


_products: dict[bool, type] = {}


# -- a subscript: one step for each part that is not a whole dimension --------------------------------------------------


def _subscript(node: Any) -> None:
    values = dict(zip(node.op.consts, node.saved))
    shape, dim = values["input_shape"], 0
    steps: list[tuple[str, int, Any]] = []
    for part in values["key"]:
        if part is Ellipsis:
            dim += len(shape) - sum(p is not None and p is not Ellipsis for p in values["key"])
        elif part is None:
            steps.append(("unsqueeze_index", dim, None))
            dim += 1
        elif isinstance(part, slice):
            if part != slice(None):
                steps.append(("basic_index", dim, part))
            dim += 1
        else:
            steps.append(("select_index", dim, part))
    if len(steps) < 2:
        return
    edge, seen = node.edges[0], np.broadcast_to(np.zeros((), np.int8), shape)
    for i, (name, at, part) in enumerate(steps):
        key = (slice(None),) * at + (part,)
        given = {"input_shape": seen.shape, "key": key}
        consts = tuple(given[c] for c in TABLE[name].consts)  # type: ignore[union-attr]
        seen = seen[key]
        if i < len(steps) - 1:
            edge = step(node, 1 - (i + 1) / (len(steps) + 1), name, consts, edge, seen.shape)
    node.saved, node.edges = consts, (edge,)
    node.__class__ = node_class(TABLE[name])  # type: ignore[arg-type]


# -- a reshape that copies: first the copy, then the view of it -----------------------------------------------------------


def _copy(node: Any) -> None:
    if type(node.shown()).__name__ == "UnsafeViewBackward0":
        shape = node.saved[node.op.consts.index("input_shape")]
        node.edges = (step(node, 0.5, "clone", (None,) * len(TABLE["clone"].consts), node.edges[0], shape),)  # type: ignore[union-attr]


# -- cross-entropy: the logarithms of probabilities, and what is picked of them ---------------------------------------------


def _cross_entropy(node: Any) -> None:
    outer: Any = TABLE["nll"]
    known = None
    shape = shape_at(node.edges[0])
    if node.saved is not None:
        own = node.saved
        if type(own[0]) is Packed or "tangents" in node.__dict__ or own[1][0] != own[2]:
            return
        log_p = own[3] if type(own[3]) is np.ndarray else K.log_softmax(own[0], 1)
        facts = dict(zip(node.op.consts, own[12:]), input=(log_p, UNVERSIONED, 0), index=own[6:9], scale=own[9:12])
        known = (log_p, UNVERSIONED, 0, 1)
        node.saved = (*(x for name in outer.saved for x in facts[name]), *(facts[name] for name in outer.consts))
    edge = step(node, 0.5, "log_softmax", known, node.edges[0], shape)  # type: ignore[arg-type]
    kind = renamed(node_class(outer), type(node.shown()).__name__, True)
    node.edges = (edge,)
    node.__class__ = kind


def _softmax(node: Any) -> None:
    """A softmax in another type: first the numbers are brought to it."""
    to, nr = node.edges[0]
    given = to.dtype if to.outputs == 1 else to.dtype[nr]
    if given is not None and given != node.dtype:
        node.edges = (step(node, 0.5, "cast", (None,) * len(TABLE["cast"].consts), node.edges[0], node.shape),)  # type: ignore[union-attr]


def _matmul(node: Any) -> None:
    from .unfold_matmul import unfold_matmul

    unfold_matmul(node)


UNFOLDING: dict[str, Callable[[Any], None]] = {
    "linear": _linear,
    "reshape": _copy,
    "matmul": _matmul,
    **dict.fromkeys(("softmax", "log_softmax"), _softmax),
    "cross_entropy_index": _cross_entropy,
    **dict.fromkeys(("basic_index", "select_index", "unsqueeze_index"), _subscript),
}
