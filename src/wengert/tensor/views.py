"""Views: how one was made, and its place on the tape after its base, or another view of it, was written to."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.errors import warn
from ..arrays.lazy import address, marks, through
from ..arrays.strides import geometry
from ..graph.modes import modes, set_modes
from ..graph.node import Node, next_sequence
from ..ops.operator import TABLE
from . import autograd_meta
from .autograd_meta import edge_of, meta_of, move_retained, requires_grad
from .namespaces import TRACED_OPS
from .record import record

if TYPE_CHECKING:
    from ..graph.node import Edge
    from .tensor import Tensor


class View:
    """How a view was made: the base, and the steps that lead from it to the view.

    ``last``: the last step, ``(operator, arguments, the step before it or None)``. The views of a view share its steps,
    so that a chain of views takes time and memory in proportion to its length.
    """

    __slots__ = ("base", "creation", "last", "version", "window")

    def __init__(self, base: Tensor, last: tuple[Any, ...], version: int | None, creation: str | None) -> None:
        self.base, self.last, self.version, self.creation = base, last, version, creation
        self.window = base._wg_data  # what the steps start from

    @property
    def steps(self) -> list[tuple[Any, tuple[Any, ...]]]:
        """The steps ``(operator, arguments)``, the first one first."""
        found, step = [], self.last
        while step is not None:
            op, args, step = step
            found.append((op, args))
        found.reverse()
        return found

    def place(self, seen: np.ndarray) -> tuple[Any, ...] | None:
        """Where ``seen``, the view's array, lies in the memory of the base, ``(shape, strides, offset)`` in bytes; None
        if only the steps can tell (another type of element).
        """
        whole = self.base._wg_data
        if hasattr(whole, "plan") or hasattr(seen, "plan"):  # nested arrays
            return None
        if seen.dtype == whole.dtype and memory_owner(seen) is memory_owner(whole) and marks(seen) == marks(whole):
            return seen.shape, seen.strides, address(seen) - address(whole)
        if whole is not self.window and memory_owner(whole) is not memory_owner(self.window):
            raise RuntimeError(
                "the base of this view was given other memory (by .data = or the like), or other sizes in place, after "
                "the view was made, and was then written to: where the view lies in it cannot be recorded. Take the "
                "view again, or use the out-of-place form."
            )
        return None

    def replay_raw(self, array: np.ndarray) -> np.ndarray:
        """The same view of another array."""
        for op, args in self.steps:
            array = View.step_raw(op, args, array)
        return array

    @staticmethod
    def step_raw(op: Any, args: tuple[Any, ...], array: np.ndarray) -> np.ndarray:
        """One step on an array."""
        return _again(op.forward if op.lazy else partial(through, op.forward), op, array, args)

def replay(view: View, tensor: Tensor) -> Tensor:
    """The same view of another tensor, recorded; steps that change how elements are read as one ``as_strided``."""
    if modes().view_replay or type(tensor) is not type(tensor)._wg_plain_class:
        for op, args in view.steps:
            tensor = _again(getattr(TRACED_OPS, op.name), op, tensor, args)
        return tensor
    seen = tensor._wg_data
    for op, args in view.steps:
        after = View.step_raw(op, args, seen)
        if (hasattr(after, "plan") or hasattr(seen, "plan") or after.dtype != seen.dtype
                or marks(after) != marks(seen)):
            tensor = _again(getattr(TRACED_OPS, op.name), op, _as_seen(tensor, seen), args)
        seen = after
    return _as_seen(tensor, seen)


def _as_seen(tensor: Tensor, seen: np.ndarray) -> Tensor:
    """``tensor`` through the window ``seen``, an array in the same memory."""
    data, item = tensor._wg_data, seen.itemsize
    if hasattr(data, "plan") or hasattr(seen, "plan"):  # nested arrays: each step for itself
        return tensor
    shift = address(seen) - address(data)
    if (data.shape, data.strides, shift) == (seen.shape, seen.strides, 0):
        return tensor
    offset = tensor.storage_offset() + shift // item
    steps = tuple(s // item for s in seen.strides)
    return TRACED_OPS.as_strided(tensor, tuple(seen.shape), steps, offset, geometry(data))


def _again(call: Any, op: Any, source: Any, args: tuple[Any, ...]) -> Any:
    """One step once more; the first argument of a step with many results says which of them is meant."""
    many = op.outputs is ...
    given, named = args[many:], {}
    kwonly = getattr(op, "kwonly", 0)
    if kwonly:
        named = dict(zip(op.params[-kwonly:], given[len(op.params) - 1 - kwonly :]))
        given = given[: len(op.params) - 1 - kwonly]
    found = call(source, *given, **named)
    return found[args[0]] if many else found


def memory_owner(array: np.ndarray) -> Any:
    """The array that owns (or first wrapped) the memory which ``array`` looks at."""
    while True:
        base = array.base
        if base is None:
            return array
        if not isinstance(base, np.ndarray):
            return base
        array = base


class Lost(Node):
    """The history of a view whose position in its base is unknown; its backward raises ``reason``."""

    __slots__ = ("reason",)

    reason: str

    def name(self) -> str:
        return "AsStridedBackward0"

    def raw(self, g: Any, needs: Any = None) -> Any:
        raise RuntimeError(self.reason)

    recorded = raw


Lost.__name__ = "AsStridedBackward0"


def _lost(t: Tensor, base: Tensor, reason: str) -> Node:
    node = Lost()
    node.edges, node.saved, node.hooks, node.seq = (edge_of(base),), None, None, next_sequence()
    node.shape, node.dtype, node.reason = t._wg_data.shape, t._wg_data.dtype, reason
    return node


def _strided_edge(t: Tensor, base: Tensor, place: tuple[Any, ...]) -> Edge | None:
    """An edge to ``base`` for its view ``t``, whatever steps once led to it."""
    source, item = geometry(base._wg_data), base._wg_data.itemsize
    shape, strides, offset = place
    steps = tuple(s // item for s in strides)
    values = {"input": base._wg_data, "size": shape, "stride": steps, "storage_offset": source[2] + offset // item,
        "source": source}
    wanted = requires_grad(base)
    inputs = {"input": base if wanted else base.detach()._wg_require()}
    node = record(TABLE["as_strided"], inputs, values, (t,), modes())  # type: ignore[arg-type]
    if node is None:
        return None
    if not wanted:  # a view that required a gradient still does, though what was written has none
        node.edges = (None,)
    return node, 0


def creation_error(creation: str, t: Tensor, indirect: bool = False) -> str:
    """PyTorch's text for a write to a view ``t`` that was made where it could not be recorded."""
    what = "its base or another view of its base has been" if indirect else "is being"
    name, number = ("", 0) if t._wg_edge is None else (t._wg_edge[0].operation(), t._wg_edge[1])
    where = {"no_grad": "no_grad", "inference": "inference"}.get(creation)
    if where is not None:
        head = (f"Output {number} of {name} is a view of a view which was created in" if name
            else "A view was created in")
        return (f"{head} {where} mode and {what} modified inplace "
            f"{'with grad mode enabled' if where == 'no_grad' else 'in normal mode'}. Given that this use case is "
            "ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the "
            f"inplace either both inside the {where if where == 'no_grad' else 'inference_mode'} block (if you don't "
            "want the inplace to be tracked) or both outside (if you want the inplace to be tracked).")
    head = (f"Output {number} of {name} is a view and {what} modified inplace." if name
        else f"A view was created in no_grad mode and {what} modified inplace with grad mode enabled.")
    if creation == "multi":
        return (
            f"{head} This view is the output of a function that returns multiple views. Such functions do not allow "
            "the output views to be modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    return (f"{head} This view was created inside a custom Function (or because an input was returned as-is) and the "
        "autograd logic to handle view+inplace would override the custom backward associated with the custom Function, "
        "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the "
        "custom Function.")


def record_anew(t: Tensor, view: View, place: tuple[Any, ...] | None = None) -> None:
    """Give a view of what was written to its place (if it is known) on the tape: below its base's latest history."""
    now = t._wg_vc[0]
    if view.creation is not None:
        raise RuntimeError(creation_error(view.creation, t, indirect=True))
    old = t._wg_edge
    try:
        place = None if modes().view_replay else place or view.place(t._wg_data)
    except RuntimeError as error:  # raised when a gradient is computed
        t._wg_edge = (_lost(t, view.base, str(error)), 0)
        view.version = now
        return
    if place is None:
        before = modes()
        set_modes(before.with_(grad=True, inference=False))
        try:
            again = replay(view, view.base)
        finally:
            set_modes(before)
        t._wg_edge = (again._wg_edge if again is not view.base
            else _strided_edge(t, again, (again._wg_data.shape, again._wg_data.strides, 0)))
        if again._wg_data.strides != t._wg_data.strides and again._wg_edge is not None:
            warn("a view whose elements are of another type than its base's was transposed (or otherwise reshaped) in "
                "place, and then it or its base was written to. Its history is now made again from the way it was "
                "first taken, without the transposition (PyTorch's does the same): its gradient arrives as if it had "
                "kept its old shape. Use the out-of-place form, x = x.transpose(...).")
    else:
        t._wg_edge = _strided_edge(t, view.base, place)
    view.version = now
    if meta_of(t).retained:
        move_retained(t, old)


autograd_meta.record_anew = record_anew
