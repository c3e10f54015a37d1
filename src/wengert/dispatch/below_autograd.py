"""How a call runs below autograd, where dispatch modes and tensors that dispatch do the forward and the node is made
around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.kinds import ARRAYS
from ..arrays.storageless import StoragelessArray
from ..graph.interceptors import Interceptor
from ..graph.modes import DISPATCH, add_field, modes
from ..ops.operator import TABLE
from ..tensor import classes
from ..tensor.arguments import convert
from ..tensor.autograd_meta import bump
from ..tensor.call import PARTS, recorded_results, returned, see_as_view, split
from ..tensor.copy_slices import rebase
from ..tensor.inplace import check_write, history_of_write, record_write, refuse_recorded
from ..tensor.namespaces import internal_calls
from ..tensor.record import pack_inputs, record
from ..tensor.results import attach_part, fresh, is_type, looks_at, version_results
from . import subclass_dispatch
from .decompositions import BACKWARD, COMPOSED, backward
from .running import dispatched, dispatched_inplace, dispatched_into
from .torch_dispatch import ask, aten, dispatching, saved_results

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.interceptors import Call
    from ..graph.modes import Modes
    from ..ops.operator import Operator


def run_operator(call: Call, call_next: Any) -> Any:
    """An operator: ``call.perform`` with the forward of the modes or classes, whose tensors are the results."""
    op, args, m = call.op, call.args, modes()
    own = bool(dispatching(args))
    if op.name == "view" and is_type(args[1]) and not m.dispatch:
        return call_next(call)
    inputs, values = convert(op, args)
    if call.out is not None:
        refuse_recorded(op, call.out, inputs, m)
        return dispatched_into(op, args, call.out, m)
    parts = COMPOSED.get(op.name) if own or m.saved_tensor_hooks is None else None
    if parts is not None:  # what PyTorch makes of others is made of them here, above autograd
        with internal_calls():
            answer = parts(
                *(v if p in op.tensors or not isinstance(v, classes.Tensor_) else values[p]
                    for p, v in zip(op.params, args)))
        if answer is not NotImplemented:
            return answer
    if m.saved_tensor_hooks is not None and m.grad and op.wrt:
        pack_inputs(op, inputs, values, m)
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
        node = record(op, inputs, values, live, m)
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
    recording, stale = history_of_write(op, inputs, target, m)
    check_write(op, args, inputs, recording, stale, m)
    node = None
    if recording and own:
        values["result"] = values[op.params[0]] = target._wg_data  # such tensors copy themselves
        node = subclass_dispatch.record_write(op, inputs, values, target, m)
    elif recording:
        node = record_write(op, inputs, values, target, target._wg_data, m)
        first = op.params[0]
        if node is not None and first in op.saved and node.saved[3 * op.saved.index(first)] is not None:
            ask(aten.clone.default, classes.Tensor_.clone, False, (target,), {}, m)
    elif stale:
        node = record(TABLE["zero"], {"input": target}, values, (target,), m)  # type: ignore[arg-type]
    dispatched_inplace(op, args, m)
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
    one = op.raw is not None and not m.grad and not call.kwargs and op.name in BACKWARD
    if one and (m.dispatch or dispatching(args)) and not any(type(v) is classes.Batched_ for v in args):
        return backward(op, args)
    with internal_calls():
        return call_next(call)


RUN: dict[str, Callable[[Call, Any], Any]] = {"operator": run_operator, "inplace": run_inplace,
    "composite": run_composite}


class Dispatcher(Interceptor):
    """The dispatch modes in force, and tensors whose class has a ``__torch_dispatch__``: they run each forward, below
    autograd.
    """

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
