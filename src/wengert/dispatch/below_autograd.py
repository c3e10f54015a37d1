"""How calls and backwards run below autograd, where dispatch modes and tensors that dispatch do the forward.

A node is made around what they do. In a backward that they see, nodes run the rules of the table, in recorded
operators: those that are one kernel have PyTorch's name (``decompositions.BACKWARD``), and a convolution is the one
operator ``aten.convolution_backward``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.array_likes import ARRAYS
from ..arrays.storageless import StoragelessArray
from ..functions.creation import scalar_tensor
from ..graph.interceptors import Interceptor
from ..graph.modes import DISPATCH, add_field, modes, set_modes
from ..ops.operator import TABLE, Operator
from ..tensor import call as general_path
from ..tensor import classes, record
from ..tensor import inplace as writes
from ..tensor.arguments import convert
from ..tensor.autograd_meta import bump
from ..tensor.call import PARTS, recorded_results, returned, see_as_view, split
from ..tensor.copy_slices import rebase
from ..tensor.namespaces import ARRAY_OPS, TRACED_OPS, internal_calls
from ..tensor.record import OpNode
from ..tensor.results import attach_part, fresh, is_type, looks_at, version_results
from . import subclass_dispatch
from .aten import convolution_backward
from .decompositions import BACKWARD, COMPOSED, LOWER, backward
from .meta_device import forward_of
from .torch_dispatch import (
    OpOverload,
    as_called,
    ask,
    aten,
    check_result,
    detached,
    dispatching,
    modes_below_autograd,
    named,
    saved_results,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.interceptors import Call
    from ..graph.modes import Modes


# -- what the modes and classes run ------------------------------------------------------------------------------------


def dispatched(op: Operator, args: tuple[Any, ...], m: Modes) -> Any:
    """The forward of ``op``, run by the innermost mode or the arguments: ``op.forward``'s answer, and tensors."""
    lower = LOWER.get(op.name) if not taken_whole(op, args) else None
    answer: Any = NotImplemented
    if lower is not None:
        set_modes(modes_below_autograd(m, m.dispatch))
        try:
            answer = lower(*args)
        finally:
            set_modes(m)
        if op.aux and answer is not NotImplemented:  # the parts do not give what the rule of the whole keeps
            answer = (answer, *general_path.forward(op, convert(op, args)[1])[len(op.outputs) :])
    if answer is NotImplemented:
        answer = _run(op, args, m, False)
        check_result(answer, op.outputs is ... or len(op.outputs) > 1 or bool(op.aux))
    if op.outputs is ... or len(op.outputs) > 1 or op.aux:
        return tuple(_array(v) for v in answer), list(answer)
    return _array(answer), [answer]


def dispatched_into(op: Operator, args: tuple[Any, ...], out: Any, m: Modes) -> Any:
    """The form of ``op`` that writes to ``out``, run by the innermost mode or by its arguments."""
    if op.name in LOWER:  # whose parts dispatch; the last would write
        out.copy_(general_path.compute(op, args))
        return out
    func = named(op, args)
    overload = (_OUT.get((func._opname, func._overloadname)) or _OUT.get(func._overloadname)
        or f"{func._overloadname}_out")
    row, kwargs = as_called(op, args)
    ask(getattr(func.overloadpacket, overload), op, False, row, {**kwargs, "out": out}, m)
    for t in out if isinstance(out, (tuple, list)) else (out,):
        if type(t) in classes.DISPATCHING:
            bump(t)
    return out


# overloads that write to ``out=``, by the overload that does not: of some operators, and of all others
_OUT: dict[Any, str] = {
    ("max", "dim"): "dim_max", ("min", "dim"): "dim_min", ("median", "dim"): "dim_values",
    ("nanmedian", "dim"): "dim_values", ("mean", "dim"): "out",
    **{(n, "default"): "values" for n in ("sort", "topk", "kthvalue", "mode")}, "Tensor": "out", "default": "out",
    "dim_IntList": "IntList_out",
}


def taken_whole(op: Any, args: tuple[Any, ...]) -> bool:
    """Whether the class of an argument has said that it takes this operator itself, not what it is made of."""
    return any(op.name in getattr(type(v), "_wg_whole", ()) for v in args)


def _run(op: Operator, args: tuple[Any, ...], m: Modes, inplace: bool) -> Any:
    """Ask the innermost mode of ``m``, with the outer ones in force: what it calls reaches them."""
    if op.name == "where":  # numbers become tensors
        args = (args[0], *_lifted(*args[1:]))
    func = named(op, args, inplace)
    row, kwargs = as_called(op, args)
    if op.name in _ARRANGED:
        row = _ARRANGED[op.name][0](*row)
    return ask(func, op, inplace, row, kwargs, m)


def _lifted(a: Any, b: Any) -> tuple[Any, Any]:
    """The two choices of ``where`` as tensors: a number as one of the type of both."""
    kind = None
    row = []
    for x in (a, b):
        if not isinstance(x, classes.Tensor_):
            if kind is None:
                found = dt.result([v._wg_data if isinstance(v, classes.Tensor_) else v for v in (a, b)])
                kind = dt.of(dt.default_float() if found is None else found)
            x = scalar_tensor(x, dtype=kind)
        row.append(x)
    return row[0], row[1]


def _listed(x: Any, *rest: Any) -> tuple[Any, ...]:
    return (x, [rest[0]], *rest[1:]) if rest and type(rest[0]) is int else (x, *rest)


# The arguments of an operator as PyTorch's has them, and back.
_ARRANGED: dict[str, tuple[Callable[..., tuple[Any, ...]], Callable[..., tuple[Any, ...]]]] = {
    **{n: (lambda x, dim, *rest: (x, dim, False), lambda x, dim, *_: (x, dim)) for n in ("softmax", "log_softmax")},
    **{n: (_listed, lambda *args: args) for n in ("sum_dim", "mean_dim", "nansum")},
    "linalg_vector_norm": (lambda x, ord=2, *rest: (x, ord, *_listed(x, *rest)[1:]), lambda *args: args),
    "basic_index": (
        lambda x, key: (x, len(key) - 1, key[-1].start, key[-1].stop,
            *(() if key[-1].step in (None, 1) else (key[-1].step,))),
        lambda x, dim=0, start=0, end=None, step=1: (x, (*[slice(None)] * dim, slice(start, end, step))),
    ),
    "index": (lambda x, indices, *_: (x, indices), lambda *args: args),
}


def perform(op: Any, inplace: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run our operator with the arguments that a mode passes on."""
    if not isinstance(op, Operator):
        return op(*args, **kwargs)
    out = kwargs.pop("out", None) if "out" in kwargs and "out" not in op.params else None
    if op.name in _ARRANGED:
        args = _ARRANGED[op.name][1](*args)
    given = op.defaults | dict(zip(op.params, args)) | kwargs
    row = tuple(given[p] for p in op.params)
    if inplace:
        return writes.inplace(op, row)
    if not op.aux or out is not None:
        return general_path.general(op, row, out)
    m = modes()  # with the values that only its gradient needs, which PyTorch's operators give too
    if m.dispatch:
        values, _ = dispatched(op, row, m)
    else:
        _, raw = convert(op, row)
        values = forward_of(op, raw)
    return tuple(ARRAY_OPS.wrap(v) if isinstance(v, (np.ndarray, np.generic, StoragelessArray)) else v for v in values)


def _array(v: Any) -> Any:
    return v._wg_data if isinstance(v, classes.Tensor_) else v


OpOverload.perform = staticmethod(perform)


# -- calls -------------------------------------------------------------------------------------------------------------


def run_operator(call: Call, call_next: Any) -> Any:
    """An operator: ``call.perform`` with the forward of the modes or classes, whose tensors are the results."""
    op, args, m = call.op, call.args, modes()
    own = bool(dispatching(args))
    if op.name == "view" and is_type(args[1]) and not m.dispatch:
        return call_next(call)
    inputs, values = convert(op, args)
    if call.out is not None:
        writes.refuse_recorded(op, call.out, inputs, m)
        return dispatched_into(op, args, call.out, m)
    parts = COMPOSED.get(op.name) if own or m.saved_tensor_hooks is None else None
    if own and taken_whole(op, args):
        parts = None
    if parts is not None:  # what PyTorch makes of others is made of them here, above autograd
        with internal_calls():
            answer = parts(
                *(v if p in op.tensors or not isinstance(v, classes.Tensor_) else values[p]
                    for p, v in zip(op.params, args)))
        if answer is not NotImplemented:
            return answer
    if m.saved_tensor_hooks is not None and m.grad and op.wrt:
        record.pack_inputs(op, inputs, values, m)
    answer, given = dispatched(op, args, m)
    arrays = split(op, answer, values)
    results = _results(op, args, arrays, given, inputs, m)
    own = own or any(type(t) in classes.DISPATCHING for t in results)
    live = recorded_results(op, results, inputs, values, m)
    node = None
    if live and own:
        aux = dict(zip(op.aux, given[len(op.outputs) :])) if op.aux else {}
        node = subclass_dispatch.record_tensors(op, inputs, values, live, results, m, aux)
    elif live:
        node = record.record(op, inputs, values, live, m)
    if node is not None:
        for i, t in enumerate(live):
            t._wg_edge = (node, i)
        _remember_arguments(op, args, node)
        if not own:
            version_results(op, node, results)
            if m.saved_tensor_hooks is None:
                saved_results(op, node, results, m)
    return returned(op, results)


def _results(op: Operator, args: tuple[Any, ...], arrays: list[Any], given: list[Any], inputs: dict[str, Any],
        m: Modes) -> list[Any]:
    """The tensors that the modes or classes gave, as results: views where the operator gives views."""
    source = inputs.get(op.params[0]) if op.view else None
    results = []
    for i, a in enumerate(arrays):
        if type(a) not in ARRAYS:
            a = np.asarray(a)
        seen = source is not None and (op.view is True or looks_at(a, source._wg_data))
        if isinstance(given[i], classes.Tensor_) and not (m.inference and type(given[i]) is classes.Tensor_):
            seen = seen or (source is not None and type(a) is StoragelessArray and given[i]._is_view())
            t = subclass_dispatch.result(given[i], args)
        else:
            t = fresh(a, m)
        if seen:
            see_as_view(t, source, op, args, i, m)  # type: ignore[arg-type]
        elif op.outputs is ... and op.name in PARTS:
            attach_part(t, inputs[op.params[0]], op, (i, *args[1:]), m)
        results.append(t)
    return results


def run_inplace(call: Call, call_next: Any) -> Any:
    """The in-place form: the modes or classes do the writing, and the counting."""
    op, args, m = call.op, call.args, modes()
    target, own = args[0], bool(dispatching(args))
    inputs, values = convert(op, args)
    recording, stale = writes.history_of_write(op, inputs, target, m)
    writes.check_write(op, args, inputs, recording, stale, m)
    node = None
    if recording and own:
        values["result"] = values[op.params[0]] = target._wg_data  # such tensors copy themselves
        node = subclass_dispatch.record_write(op, inputs, values, target, m)
    elif recording:
        node = writes.record_write(op, inputs, values, target, target._wg_data, m)
        first = op.params[0]
        if node is not None and first in op.saved and node.saved[3 * op.saved.index(first)] is not None:
            ask(aten.clone.default, classes.Tensor_.clone, False, (target,), {}, m)
    elif stale:
        node = record.record(TABLE["zero"], {"input": target}, values, (target,), m)  # type: ignore[arg-type]
    _run(op, args, m, True)
    if not m.below_autograd:  # where it is the call above that counts
        bump(target)
    if node is not None:
        if own:
            subclass_dispatch.keep_results(op, node, [target], m)
        else:
            version_results(op, node, [target])
            saved_results(op, node, [target], m)
        _remember_arguments(op, args, node)
        rebase(target, node)
    return target


def run_composite(call: Call, call_next: Any) -> Any:
    """An operator that is made of others: a gradient that is one operator of PyTorch has its name."""
    m, op, args = modes(), call.op, call.args
    one = op.raw is not None and not m.grad and not call.kwargs
    if one and not (op.name in BACKWARD or taken_whole(op, args)):
        one = False
    if one and (m.dispatch or dispatching(args)) and not any(type(v) is classes.Batched_ for v in args):
        return backward(op, args)
    with internal_calls():
        return call_next(call)


RUN: dict[str, Callable[[Call, Any], Any]] = {"operator": run_operator, "inplace": run_inplace,
    "composite": run_composite}


class Dispatcher(Interceptor):
    """Dispatch modes, and tensors whose class has a ``__torch_dispatch__``, run each forward below autograd."""

    order = DISPATCH

    def applies_to(self, call: Call) -> bool:
        if call.kind not in ("operator", "inplace", "composite"):
            return False
        given = call.args if call.out is None else (*call.args, call.out)
        return bool(modes().dispatch or dispatching(given) or (call.kind == "composite" and classes.DISPATCHING))

    def intercept(self, call: Call, call_next: Any) -> Any:
        return RUN[call.kind](call, call_next)


DISPATCHER = Dispatcher()
add_field("dispatch", DISPATCHER)


def _remember_arguments(op: Operator, args: tuple[Any, ...], node: Any) -> None:
    """Save what a formula may read of an argument later: shape and strides of a tensor, a number itself."""
    node.__dict__["seen"] = {p: _facts(v) for p, v in zip(op.params, args)}


def _facts(v: Any) -> Any:
    if isinstance(v, classes.Tensor_):
        a = v._wg_data
        return a.shape, tuple(s // a.itemsize for s in a.strides)
    return v if v is None or isinstance(v, (int, float)) else ...


# -- backwards ---------------------------------------------------------------------------------------------------------


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


record.gradients_seen = gradients
