"""The steps that PyTorch takes for a product of tensors of any ranks, as nodes: see ``unfold``.

Batches of matrices are expanded to one batch and multiplied (``bmm``); many matrices times one are laid under each other
(``mm``, ``mv``); a vector before a matrix is a matrix of one row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.node import Node
from ..ops.operator import TABLE
from ..ops.views import as_view
from .record import OpNode, Packed, node_class, renamed
from .unfold import shape_at, step

if TYPE_CHECKING:
    from ..graph.node import Edge

    Shape = tuple[int, ...]


class Core(OpNode):
    """The product itself: the node of the whole, with edges to what its arguments were made into.

    ``_own``: the edges of the whole; ``_order``: which argument each edge is for; ``_seen``: for each argument its shape in the
    batch, whether it is transposed then, and the shape in which the core takes it; ``_full``: the shape of the whole's result;
    ``_turned``: whether the core's result is that of the transposed product.
    """

    __slots__ = ()

    next_functions = Node.next_functions

    def _edge_to(self, name: str, index: int = 0) -> Any:
        return self.__dict__["_own"][self.op.wrt.index(name)] if name in self.op.wrt else None

    def _gradients(self, space: Any, g: Any, needs: Any, values: Any = None) -> Any:
        facts = self.__dict__
        order, full = facts["_order"], facts["_full"]
        if facts["_turned"]:
            g = space.transpose(space.reshape(g, (*full[:-2], full[-1], full[-2])), -2, -1)
        else:
            g = space.reshape(g, full)
        wanted = [False, False]
        for at, need in zip(order, needs):
            wanted[at] = need
        found = super()._gradients(space, g, wanted)
        grads = []
        for at in order:
            x = found[at]
            if x is not None:
                batch, transposed, taken = facts["_seen"][at]
                if tuple(x.shape) != batch:  # one for many
                    x = space.conform(x, batch, space.dtype_of(x))
                x = space.reshape(space.transpose(x, -2, -1) if transposed else x, taken)
            grads.append(x)
        return grads


_cores: dict[str, type] = {}


def _core(node: Any, name: str, result: Shape, order: tuple[int, int], seen: list[Any], edges: tuple[Any, ...], turned: bool = False) -> Edge:
    kind = _cores.get(name)
    if kind is None:
        body = {"__slots__": (), "shown": OpNode.shown, "name": OpNode.name, "__module__": "torch.autograd.graph"}
        kind = _cores[name] = type(name, (Core, node_class(node.op)), body)
    core: Any = OpNode.__new__(kind)
    core.saved, core.hooks, core.seq, core.shape, core.dtype, core.edges = node.saved, None, node.seq + 0.25, result, node.dtype, edges
    core.__dict__.update(
        _own=node.edges, _order=order, _seen=seen, _full=node.shape, _turned=turned, _unfolded=True, _sequence=node._sequence_nr()
    )  # fmt: skip
    if "tangents" in node.__dict__:
        core.__dict__["tangents"] = node.__dict__.pop("tangents")
    return core, 0


def _become(node: Any, name: str, edge: Edge, shown: str, **consts: Any) -> None:
    op: Any = TABLE[name]
    node.saved, node.edges = tuple(consts[c] for c in op.consts), (edge,)
    node.__class__ = renamed(node_class(op), shown, True)


def _reshaped(node: Any, part: float, edge: Edge | None, array: Any, shape: Shape) -> Edge | None:
    """An edge to the steps of ``reshape`` of what ``edge`` leads to and ``array`` looks like."""
    if edge is None:
        return None
    if array.flags.c_contiguous:
        return step(node, part, "reshape", (array.shape,), edge, shape)
    if as_view(array, shape) is not None:
        return step(node, part, "reshape", (array.shape,), edge, shape, "ReshapeAliasBackward0")
    copy = step(node, part + 0.02, "clone", (None,) * len(TABLE["clone"].consts), edge, array.shape)  # type: ignore[union-attr]
    return step(node, part, "reshape", (array.shape,), copy, shape, "UnsafeViewBackward0")


def unfold_matmul(node: Any) -> None:
    """Take the node of a product apart; what was saved is the core's then."""
    saved = node.saved
    first, second = node.edges
    if saved is not None:
        if type(saved[0]) is Packed or type(saved[3]) is Packed:
            return
        a, b = saved[6:8]
    elif first is None or second is None:
        return
    else:
        a, b = shape_at(first), shape_at(second)
    if (len(a), len(b)) in ((1, 1), (2, 1), (2, 2)):
        return
    arrays = [_looks(x, shape, edge) for x, shape, edge in ((saved and saved[0], a, first), (saved and saved[3], b, second))]
    if (len(a), len(b)) == (1, 2):
        row = None if first is None else step(node, 0.75, "unsqueeze", (0,), first, (1, a[0]))
        core = _core(node, "MmBackward0", (1, b[1]), (0, 1), [(a, False, (1, a[0])), (b, False, b)], (row, second))
        _become(node, "squeeze", core, "SqueezeBackward4", input_shape=(1, b[1]), dim=0)
    elif len(a) >= 3 > len(b) and _folds(arrays[0], second):
        _under_each_other(node, 0, a, b, arrays[0])
    elif len(b) >= 3 > len(a) and (first is not None or (len(a) == 1 and _folds(np.swapaxes(arrays[1], -2, -1), first))):
        _under_each_other(node, 1, b, a, arrays[1])
    elif len(a) > 1 and len(b) > 1:
        _in_batches(node, a, b, arrays)


def _looks(array: Any, shape: Shape, edge: Any) -> Any:
    """An argument as it lay in memory; where that was not kept, as it lies most likely."""
    if type(array) is np.ndarray:
        return array
    op = None if edge is None else getattr(edge[0], "op", None)
    guess = np.empty(shape, np.int8)
    if op is not None and op.name in ("transpose", "t") and len(shape) > 1:
        guess = np.swapaxes(np.empty((*shape[:-2], shape[-1], shape[-2]), np.int8), -2, -1)
    return guess


def _folds(large: Any, small: Any) -> bool:
    """Whether PyTorch lays the matrices of ``large`` under each other: always for a gradient of the other, else if that needs no copy."""
    if small is not None or not large.size:
        return True
    return all(large.strides[i] == large.strides[i + 1] * large.shape[i + 1] for i in range(large.ndim - 2))


def _under_each_other(node: Any, at: int, large: Shape, small: Shape, array: Any) -> None:
    """Many matrices times one (or a vector), or the other way round, by way of the transposed product."""
    edges = node.edges
    edge, rows, turned = edges[at], array, at == 1
    if turned:
        rows = np.swapaxes(array, -2, -1)
        edge = None if edge is None else step(node, 0.9, "transpose", (-2, -1), edge, rows.shape)
    flat = (math.prod(rows.shape[:-1]), rows.shape[-1])
    edge = _reshaped(node, 0.8, edge, rows, flat)
    seen: list[Any] = [None, None]
    seen[at] = large, turned, flat
    other, matrix = edges[1 - at], len(small) == 2
    if turned and matrix:
        other = None if other is None else step(node, 0.6, "t", (), other, small[::-1])
        seen[1 - at] = small, True, small[::-1]
    else:
        seen[1 - at] = small, False, small
    width = (small[0] if turned else small[1]) if matrix else None
    result = (flat[0],) if width is None else (flat[0], width)
    core = _core(node, "MmBackward0" if matrix else "MvBackward0", result, (at, 1 - at), seen, (edge, other), turned and matrix)
    if not (turned and matrix):
        _become(node, "reshape", core, "UnsafeViewBackward0", input_shape=result)
        return
    full = (*node.shape[:-2], node.shape[-1], node.shape[-2])
    back = step(node, 0.2, "reshape", (result,), core, full, "UnsafeViewBackward0")
    _become(node, "clone", step(node, 0.1, "transpose", (-2, -1), back, node.shape), "CloneBackward0", memory_format=None)


def _in_batches(node: Any, a: Shape, b: Shape, arrays: list[Any]) -> None:
    batch = np.broadcast_shapes(a[:-2], b[:-2])
    count, edges, seen = math.prod(batch), [], []
    for i, (edge, array) in enumerate(zip(node.edges, arrays)):
        whole, taken = (*batch, *array.shape[-2:]), (count, *array.shape[-2:])
        if edge is not None:
            edge = step(node, 0.85 - i / 5, "expand", (array.shape,), edge, whole)
        edges.append(_reshaped(node, 0.8 - i / 5, edge, np.broadcast_to(array, whole), taken))
        seen.append((whole, False, taken))
    result = (count, a[-2], b[-1])
    core = _core(node, "BmmBackward0", result, (0, 1), seen, tuple(edges))
    _become(node, "reshape", core, "UnsafeViewBackward0", input_shape=result)
