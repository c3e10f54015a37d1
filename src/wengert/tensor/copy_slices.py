"""History after a write: the node of the write becomes the tensor's, and a view's write becomes part of its base's
history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph import anomaly
from ..graph.modes import modes
from ..graph.node import Node, next_sequence
from .autograd_meta import edge_of, move_retained
from .namespaces import ARRAY_OPS, TRACED_OPS
from .version_check import freed
from .views import View, record_anew, replay

if TYPE_CHECKING:
    from .tensor import Tensor


class CopySlices(Node):
    """The history of a base after an in-place write through one of its views."""

    __slots__ = ("at", "fn", "layout", "place", "view")

    fn: Node | None  # None once released

    def __init__(self, base: Tensor, view: View, place: tuple[Any, ...] | None, fn: Node, at: int = 0) -> None:
        self.fn, self.at, self.place = fn, at, place
        self.layout = base._wg_data.shape, base._wg_data.strides, 0
        self.view = view if self.place is None else None
        if self.view is not None:  # the steps alone: the node must not hold the base
            self.view = View.__new__(View)
            self.view.last = view.last
        self.edges = (edge_of(base), *fn.edges[:at], *fn.edges[at + 1 :])
        self.saved, self.hooks = None, None
        self.seq = next_sequence()
        self.shape, self.dtype = base._wg_data.shape, base._wg_data.dtype
        if anomaly.current is not None:
            anomaly.current.made(self)

    def raw(self, g: Any) -> Any:
        fn = self._written_by()
        if self.place is None:
            whole = g.copy() if hasattr(g, "plan") else np.array(g, order="C")
            part = self.view.replay_raw(whole)  # type: ignore[union-attr]
        else:
            whole, part = self._laid_out(g)
        grads = fn.raw(part.copy())
        mine = grads[self.at]
        part[...] = 0 if mine is None else ARRAY_OPS.conform(mine, part.shape, part.dtype)
        return (None if self.edges[0] is None else whole, *grads[: self.at], *grads[self.at + 1 :])

    def _laid_out(self, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A copy of ``g`` laid out in memory as the base is, and the part of it that the view shows."""
        assert self.place is not None
        both = (self.layout, self.place)
        low, high = min(0, self.place[2]), max(0, _end(self.layout), _end(self.place))
        if type(g) is np.ndarray and high < g.nbytes and not low and g.flags.c_contiguous and g.strides == both[0][1]:
            whole = g.copy()
            return whole, np.ndarray(self.place[0], g.dtype, whole, self.place[2], self.place[1])
        memory = np.zeros(high - low + g.itemsize, np.uint8)
        whole, part = (
            np.empty(shape, g.dtype) if 0 in shape else np.ndarray(shape, g.dtype, memory, offset - low, strides)
            for shape, strides, offset in both
        )
        whole[...] = g
        return whole, part

    def recorded(self, g: Any, needs: Any = None) -> Any:
        found = self._recorded(g)
        return tuple(x if need else None for x, need in zip(found, self.wanted if needs is None else needs))

    def _recorded(self, g: Any) -> Any:
        fn = self._written_by()
        if self.place is None:
            whole = g.clone()
            part = replay(self.view, whole)  # type: ignore[arg-type]
            grads = fn.recorded(part.clone())
            mine = grads[self.at]
            if mine is None:
                part.zero_()
            else:
                part.copy_(mine.broadcast_to(part.shape))
            return (whole, *grads[: self.at], *grads[self.at + 1 :])
        m = modes()
        plain = type(g) is type(g)._wg_plain_class and not (m.levels or (g._wg_meta and g._wg_meta.tangents))
        if plain and self.place[2] >= 0 and _end(self.place) <= _end(self.layout):
            return self._written(g, fn)
        move, base, seen = (TRACED_OPS.through_memory,
            *(_in_elements(x, g._wg_data.itemsize, self.place[2]) for x in (self.layout, self.place)))
        grads = fn.recorded(move(g, base, seen, base))
        mine = grads[self.at]
        back = None if mine is None else move(TRACED_OPS.conform(mine, seen[0], self.dtype), seen, base, base)
        written = ARRAY_OPS.through_memory(np.ones(seen[0], np.float32), seen, base, base) != 0
        whole = TRACED_OPS.where(TRACED_OPS.constant(written), g.new_zeros(()) if back is None else back, g)
        return (whole, *grads[: self.at], *grads[self.at + 1 :])

    def _written(self, g: Any, fn: Node) -> Any:
        """The gradients by a write in place of their own, whose history is PyTorch's too."""
        assert self.place is not None
        base, seen = (_in_elements(x, g._wg_data.itemsize, 0) for x in (self.layout, self.place))
        whole = g.new_empty_strided(base[0], base[1])
        whole.copy_(g)
        part = whole.as_strided(*seen)
        grads = fn.recorded(part.clone())
        if grads[self.at] is None:
            part.zero_()
        else:
            mine = grads[self.at]
            part.copy_(mine if mine.shape == part.shape else mine.broadcast_to(part.shape))
        return (whole, *grads[: self.at], *grads[self.at + 1 :])

    def partial(self, g: Any, needs: Any) -> Any:
        return tuple(x if need else None for x, need in zip(self.raw(g), needs))

    def release(self) -> None:
        """Forget the write, even one that remembers nothing: as in PyTorch there is no second time.

        The node of the write keeps what it remembers: second derivatives lead to it by the result that it saved, and
        this walk may come to it after this node.
        """
        self.fn = None

    def _written_by(self) -> Node:
        """The node of the write."""
        if self.fn is None:
            freed(self)
        return self.fn


def _end(layout: tuple[Any, ...]) -> int:
    """How far a tensor of this layout reaches in memory."""
    shape, strides, offset = layout
    return -1 if 0 in shape else offset + sum((n - 1) * s for n, s in zip(shape, strides))


def _in_elements(layout: tuple[Any, ...], item: int, least: int) -> tuple[Any, ...]:
    """``(shape, strides, offset)`` in elements, the offset counted from where base and view have both begun."""
    shape, strides, offset = layout
    return shape, tuple(s // item for s in strides), (offset - min(least, 0)) // item


def rebase(t: Tensor, node: Node, at: int = 0) -> None:
    """Give ``t`` the history ``node`` after an in-place write; through a view, rewrite the history of its base.

    ``at``: which edge of the node leads to what ``t`` was before.
    """
    meta = t._wg_meta
    if meta is not None and meta.view is not None:
        view = meta.view
        base = view.base
        base_meta = base._wg_meta
        old = base._wg_edge
        place = view.place(t._wg_data)
        base._wg_edge = (CopySlices(base, view, place, node, at), 0)
        if base_meta is not None:
            base_meta.requires_grad = False
            if base_meta.retained:
                move_retained(base, old)
        view.creation = None
        record_anew(t, view, place)
        return
    old = t._wg_edge
    t._wg_edge = (node, 0)
    if meta is not None:
        meta.requires_grad = False
        if meta.retained and old is not None:
            move_retained(t, old)
