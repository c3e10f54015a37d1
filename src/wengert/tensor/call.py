"""The general path of an operator call: overrides, conversion, promotion, forward, views, recording.

The functions that users call are generated from the declarations with a fast path for the common case (see
``specialise``); whatever it does not cover comes here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.array_likes import ARRAYS
from ..arrays.layouts import in_order_of
from ..graph.interceptors import Call, run_interceptors
from ..graph.modes import modes
from ..ops.errors import explain
from ..ops.outs import DECIDING
from . import classes
from .arguments import convert, forward
from .autograd_meta import Released
from .inplace import into, refuse_recorded
from .record import pack_inputs, record
from .results import (
    _given,
    attach_part,
    attach_view,
    fresh,
    is_type,
    look_up,
    looks_at,
    named,
    seen_as,
    version_results,
)

if TYPE_CHECKING:
    from ..graph.modes import Modes
    from ..ops.operator import Operator
    from .tensor import Tensor

PARTS = frozenset(("unsafe_split", "unsafe_split_with_sizes"))


def general(op: Operator, args: tuple[Any, ...], out: Any = None, public: Any = None) -> Any:
    """Call ``op`` with ``args`` in the order of its parameters; ``out`` as in PyTorch. ``public``: what was called, if
    not its function.
    """
    if out is not None and op.name in DECIDING and isinstance(out, classes.Tensor_):
        at = op.params.index("dtype")
        if args[at] is None:
            args = (*args[:at], out.dtype, *args[at + 1 :])
    m = modes()
    interceptors = m.interceptors
    try:
        if out is None:
            for short in m.shortcuts:
                answer = short(op, args, m)
                if answer is not NotImplemented:
                    return answer
        return run_interceptors(Call("operator", op, args, perform, out, public), interceptors)
    except Exception as error:
        better = classes.annotated(op.name, op.params, args, {} if out is None else {"out": out}, error)
        if better is None:
            raise
        raise better from error


def compute(op: Operator, args: tuple[Any, ...], out: Any = None) -> Any:
    """The operator, through the interceptors from forward mode inwards (outer ones have handled the call already)."""
    return run_interceptors(Call("operator", op, args, perform, out), modes().from_levels)


def perform(call: Call) -> Any:
    """An operator itself: convert its arguments, run its forward, wrap the results, leave a node."""
    op, m = call.op, modes()
    inputs, values = convert(op, call.args)
    if call.out is not None:
        refuse_recorded(op, call.out, inputs, m)
    if op.name == "view" and is_type(call.args[1]):
        return seen_as(inputs["input"], values, op, m)
    if m.saved_tensor_hooks is not None and m.grad and op.wrt:
        pack_inputs(op, inputs, values, m)
    arrays = run_forward(op, inputs, values, m, call.forward or forward)
    if call.out is not None:
        return into(op, arrays, call.out, inputs, m)
    results = wrap(op, arrays, call.args, inputs, values, m)
    record_results(op, results, inputs, values, m)
    return returned(op, results)


def run_forward(op: Operator, inputs: dict[str, Any], values: dict[str, Any], m: Modes, forward: Any) -> list[Any]:
    """The arrays that the forward gives; what it gives for its gradient alone joins ``values``."""
    try:
        answer = forward(op, values)
    except (ValueError, TypeError, IndexError, OverflowError, np.exceptions.AxisError) as e:
        look_up(inputs, m)
        raise explain(op, values, e) from e
    except (RuntimeError, NotImplementedError):
        look_up(inputs, m)
        raise
    return split(op, answer, values)


def split(op: Operator, answer: Any, values: dict[str, Any]) -> list[Any]:
    """The results in what a forward gives; what is for the gradient alone joins ``values``."""
    if op.aux:
        values.update(zip(op.aux, answer[len(op.outputs) :]))
        return list(answer[: len(op.outputs)])
    return list(answer) if op.outputs is ... or len(op.outputs) > 1 else [answer]


def wrap(op: Operator, arrays: list[Any], args: tuple[Any, ...], inputs: dict[str, Any], values: dict[str, Any],
        m: Modes) -> list[Tensor]:
    """Tensors around the results: laid out as the operator declares, views where it gives views."""
    source = inputs.get(op.params[0]) if op.view else None
    results = []
    for i, a in enumerate(arrays):
        if type(a) not in ARRAYS:
            a = np.asarray(a)
        if op.layout == "rows" and type(a) is np.ndarray and not a.flags.c_contiguous:
            a = K.in_order(a)
        elif op.layout == "elementwise" and type(a) is np.ndarray and (a.ndim > 1 or not a.flags.c_contiguous):
            a = in_order_of(a, [_given(inputs.get(p), values[p]) for p in op.tensors])
        t = fresh(a, m)
        if source is not None and (op.view is True or looks_at(a, source._wg_data)):
            see_as_view(t, source, op, args, i, m)
        elif op.outputs is ... and op.name in PARTS:
            attach_part(t, inputs[op.params[0]], op, (i, *args[1:]), m)
        results.append(t)
    return results


def see_as_view(t: Tensor, source: Tensor, op: Operator, args: tuple[Any, ...], i: int, m: Modes) -> None:
    """``t``, result number ``i``, is a view of ``source``."""
    many = op.outputs is ...
    attach_view(t, source, op, (i, *args[1:]) if many else args[1:], m, "multi" if many else None)


def recorded_results(op: Operator, results: list[Tensor], inputs: dict[str, Any], values: dict[str, Any],
        m: Modes) -> tuple[Tensor, ...]:
    """The results that a node is for: none if nothing is recorded."""
    if not (m.grad and op.wrt) or (op.view and type(inputs[op.params[0]]._wg_vc) is Released):
        return ()
    if op.outputs is ...:
        return tuple(results)
    values.update((name, t._wg_data) for name, t in zip(op.outputs, results))
    return tuple(results[i] for i in op.differentiable if results[i]._wg_data.dtype.kind in "fcVW")


def record_results(op: Operator, results: list[Tensor], inputs: dict[str, Any], values: dict[str, Any],
        m: Modes) -> Any:
    """Record a node for the results, if recording is on and an input requires a gradient."""
    live = recorded_results(op, results, inputs, values, m)
    node = record(op, inputs, values, live, m) if live else None
    if node is not None:
        for i, t in enumerate(live):
            t._wg_edge = (node, i)
        version_results(op, node, results)
    return node


def returned(op: Operator, results: list[Tensor]) -> Any:
    """What the caller gets: the result, or a tuple of them, with names if they have some."""
    if op.outputs is ...:
        return tuple(results)
    return results[0] if len(results) == 1 else named(op, results)
