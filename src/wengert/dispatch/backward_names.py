"""Gradients that are one operator of PyTorch, for dispatch modes and tensors that dispatch.

In a backward that they see, nodes run the rules of the table, in recorded operators. Rules that are one kernel have
PyTorch's name of it (``decompositions.BACKWARD``); a convolution is the one operator ``aten.convolution_backward``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph.modes import modes
from ..tensor import record
from ..tensor.functions import function
from ..tensor.namespaces import TRACED_OPS, internal_calls
from ..tensor.record import OpNode
from .aten_networks import convolution_backward
from .decompositions import _ARRANGED, BACKWARD
from .torch_dispatch import ask, aten, detached

if TYPE_CHECKING:
    from collections.abc import Callable


def gradients(node: OpNode, g: Any, needs: Any) -> Any:
    """The gradients of ``node`` in recorded operators."""
    m = modes()
    if not (m.dispatch or "keeps_tensors" in node.__dict__):
        return node._gradients(TRACED_OPS, g, needs)
    if type(node)._gradients is not OpNode._gradients:  # a part of what was one step
        with internal_calls():
            return node._gradients(TRACED_OPS, g, needs)
    op = node.op
    values = node._values(TRACED_OPS)
    # a result comes out of the node's keeping as another tensor
    for name in op.outputs if op.outputs is not ... else ():
        if values.get(name) is not None and not values[name]._wg_dispatches and name not in op.nondifferentiable:
            taken = detached(values[name], m)
            if not m.grad and not m.levels:
                values[name] = taken
    with internal_calls():
        answer = None
        if op.name == "convolution_forward" and not m.grad and not m.levels:
            g = g[0] if type(g) is list and len(g) == 1 else g
            answer = _convolution(g, values, needs, node.__dict__.get("seen", {}))
        return node._gradients(TRACED_OPS, g, needs, values) if answer is None else answer


def _convolution(g: Any, v: dict[str, Any], needs: Any, seen: dict[str, Any]) -> list[Any] | None:
    """PyTorch's one operator for the gradients of a convolution."""
    if "bias" not in seen or any(t.is_complex() for t in (g, v["input"], v["weight"])):
        return None
    n = v["weight"].ndim - 2
    sizes = None if seen["bias"] is None else [g.shape[1]]
    how = [list(v[k]) * (n if len(v[k]) == 1 else 1) for k in ("stride", "padding", "dilation")]
    args = (g, v["input"], v["weight"], sizes, *how, False, [0] * n, v["groups"], [bool(b) for b in needs])
    return list(ask(aten.convolution_backward.default, convolution_backward, False, args, {}, modes()))


def as_function(name: str) -> Callable[..., Any] | None:
    """PyTorch's operator ``name``, which is a gradient rule of ours, as a function of its arguments; None if it is
    none.
    """
    ours = next((n for n, theirs in BACKWARD.items() if theirs == name and not theirs.startswith("native")), None)
    if ours is None:
        return None
    back = _ARRANGED[ours][1] if ours in _ARRANGED else None
    return lambda *args, **kwargs: function(ours)(*(args if back is None else back(*args, *kwargs.values())))


record.gradients_seen = gradients
