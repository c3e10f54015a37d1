"""How the tangent of a result follows from the gradient rule of an operator: see ``forward_mode``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..graph.modes import modes, set_modes
from ..tensor.autograd_meta import requires_grad
from ..tensor.namespaces import ARRAY_OPS, TRACED_OPS
from .dual_level import zeros

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..ops.operator import Operator
    from ..tensor.record import OpNode
    from ..tensor.tensor import Tensor

_plain: dict[str, bool] = {}


def has_plain_rules(op: Operator) -> bool:
    """Whether ``op`` has a diagonal Jacobian, and rules that name nothing but its arguments and its result."""
    found = _plain.get(op.name)
    if found is None:
        rules = op.rules if op.joint is None else (op.joint,)
        known = {*op.params, "needs", *(() if op.outputs is ... else op.outputs)}
        found = _plain[op.name] = is_diagonal(op) and all(n in known for _, names in rules for n in names)
    return found


def is_analytic(op: Operator, tensors: Iterable[Any]) -> bool:
    """Whether the rule of an operator with a diagonal Jacobian is analytic for these."""
    return not op.wirtinger or all(x is None or x._wg_data.dtype.kind != "c" for x in tensors)


def is_diagonal(op: Operator) -> bool:
    """Whether the Jacobian has nothing but a diagonal, for all the operator says."""
    if not op.pointwise or op.aux or op.outputs is ...:
        return False
    return len(op.differentiable) == len(op.outputs) == 1


def _gradient_in(op: Operator, i: int, t: Any, values: dict[str, Any]) -> Any:
    """What the rule of ``op`` gives for the gradient ``t`` in its differentiable argument number ``i``."""
    if op.joint is None:
        rule, names = op.rules[i]
        return rule(TRACED_OPS, t, *[values[n] for n in names])
    rule, names = op.joint
    needs = [j == i for j in range(len(op.wrt))]
    return rule(TRACED_OPS, t, *[needs if n == "needs" else values[n] for n in names])[i]


def pointwise(op: Operator, values: dict[str, Any], tensors: list[Any], tangents: list[Any],
        answer: Tensor) -> Tensor | None:
    """A diagonal Jacobian is its own transpose: the gradient rule, with ``values`` that are not conjugated."""
    shape, dtype = answer._wg_data.shape, answer._wg_data.dtype
    total = None
    own = op.name == "copy" or of_own_types(tensors, tangents)
    if own and len(tensors) == 1:
        tangents = [_real(t, x) for t, x in zip(tangents, tensors)]
    for i, t in enumerate(tangents):
        if t is None:
            continue
        if not own and t._wg_data.dtype != dtype and not (dtype.kind != "c" and t._wg_data.dtype.kind == "c"):
            t = TRACED_OPS.cast(t, dtype)
        if t._wg_data.shape != shape:
            t = TRACED_OPS.expand(t, shape)
        part = _gradient_in(op, i, t, values)
        if part is not None:
            total = part if total is None else total + part
    if total is None:
        return None
    if total._wg_data.shape != shape:
        total = TRACED_OPS.expand(total, shape)
    if op.name == "copy":
        return total
    if not own:
        return total if total._wg_data.dtype == dtype else TRACED_OPS.conform(total, shape, dtype)
    others = [x._wg_data for x, t in zip(tensors, tangents) if x is not None and t is None]
    if op.name in ("mul", "div") and None in tangents and total._wg_data.dtype.kind != "c":
        # PyTorch's formula adds the product with a tangent of zeros, also that of a number
        others = [answer._wg_data]
    wide = dt.result([total._wg_data, *others])
    return total if wide is None or total._wg_data.dtype == wide else TRACED_OPS.cast(total, wide)


def is_reduction(op: Operator, tensors: list[Any], tangents: list[Any], answer: Any) -> bool:
    """Whether every result is one number, or depends on no other elements than those along ``dim``; all real."""
    if op.outputs is ... or len(op.outputs) != 1 or of_own_types(tensors, tangents):
        return False
    if answer._wg_data.size != 1 and not ({"dim", "keepdim"} <= set(op.params) and len(tensors) == 1):
        return False
    return all(x is None or x._wg_data.dtype.kind == "f" for x in (*tensors, answer))


def reduced(op: Operator, node: OpNode, tensors: list[Any], tangents: list[Any], answer: Any, args: Any) -> Tensor:
    """A reduction's row of the Jacobian is what the gradient rule gives for ones: its product with the tangent."""
    shape = answer._wg_data.shape
    seed = ARRAY_OPS.wrap(np.ones(shape, answer._wg_data.dtype))
    total = None
    for x, t, g in zip(tensors, tangents, node.recorded(seed, [t is not None for t in tangents])):
        if t is not None and g is not None:
            part = TRACED_OPS.conform(g, x._wg_data.shape, x._wg_data.dtype) * t
            if answer._wg_data.size == 1:
                part = TRACED_OPS.reshape(TRACED_OPS.sum(part), shape)
            else:
                part = TRACED_OPS.sum(part, args[op.params.index("dim")], args[op.params.index("keepdim")])
            total = part if total is None else total + part
    return zeros(answer) if total is None else total


def transposed(op: Operator, node: OpNode, tensors: list[Any], tangents: list[Any],
        answer: Any, args: tuple[Any, ...]) -> list[Any]:
    """The transpose of the gradient rule, by differentiating it in the direction of the gradient."""
    from .mapped_backward import gradients as grad

    m = modes()
    outputs = differentiable(op, answer)
    # of several gradients in one step those that were not wanted are no results
    wanted = args[op.params.index("output_mask")] if "output_mask" in op.params else [True] * len(outputs)
    set_modes(m.with_(grad=True, inference=False, saved_tensor_hooks=None, saved_tensor_hooks_disabled=None))
    try:
        own = of_own_types(tensors, tangents)
        if own:
            tangents = [_real(t, x) for t, x in zip(tangents, tensors)]
        types = [t._wg_data.dtype for t in tangents if t is not None] if own else []
        seeds = [ARRAY_OPS.wrap(np.ones(o._wg_data.shape, np.result_type(o._wg_data.dtype, *types)))._wg_require()
            for o, w in zip(outputs, wanted) if w]
        supply = iter(seeds)
        given = [next(supply) if w else None for w in wanted]
        found = node.recorded(given[0] if node.outputs == 1 else given, [t is not None for t in tangents])
        pairs = []
        for x, t, g in zip(tensors, tangents, found):
            if t is not None and g is not None and requires_grad(g):
                d = g._wg_data.dtype if own else x._wg_data.dtype
                fitted = TRACED_OPS.conform(g, x._wg_data.shape, d)
                pairs.append((fitted, t if t._wg_data.dtype == d else TRACED_OPS.cast(t, d)))
    finally:
        set_modes(m)
    if not pairs:
        return [zeros(o) if w else None for o, w in zip(outputs, wanted)]
    rows = iter(grad([g for g, _ in pairs], seeds, [t for _, t in pairs], create_graph=m.grad, allow_unused=True,
        materialize_grads=True))
    return [next(rows) if w else None for w in wanted]


def differentiable(op: Operator, answer: Any) -> list[Any]:
    """The outputs that carry gradients, as ``compute`` counts them."""
    if op.outputs is ...:
        return list(answer)
    rows = answer if isinstance(answer, tuple) else (answer,)
    return [rows[i] for i in op.differentiable if rows[i]._wg_data.dtype.kind in "fcVW"]


def apart(t: Any, tangents: list[Any]) -> Any:
    """The tangent of a result that is no view, copied where a rule gives what it got (that of ``x + 1``)."""
    for x in tangents:  # loops here and below, for speed
        if t is not None and x is not None and x._wg_vc is t._wg_vc:
            return TRACED_OPS.clone(t)
    return t


def of_own_types(tensors: list[Any], tangents: list[Any]) -> bool:
    """Whether some tangent has another type than its tensor: types of tangents are then promoted by themselves."""
    for x, t in zip(tensors, tangents):  # noqa: SIM110  for speed
        if t is not None and t._wg_data.dtype != x._wg_data.dtype:
            return True
    return False


def of_one_type(tensors: list[Any]) -> bool:
    """Whether a node saves these as they are: those of several types it saves as what they were promoted to."""
    dtype = None
    for x in tensors:
        if x is not None:
            if dtype is not None and x._wg_data.dtype != dtype:
                return False
            dtype = x._wg_data.dtype
    return True


def _real(t: Any, x: Any) -> Any:
    """The part of a tangent that moves ``x``: the real one of what is real."""
    return TRACED_OPS.real(t) if t is not None and t._wg_data.dtype.kind == "c" and x._wg_data.dtype.kind != "c" else t
