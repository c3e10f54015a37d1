"""How a forward is run below autograd: by dispatch modes and by the classes of tensors that dispatch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.storageless import StoragelessArray
from ..functions.creation import scalar_tensor
from ..graph.modes import modes, set_modes
from ..ops.operator import Operator
from ..tensor import call as general_path
from ..tensor import classes
from ..tensor import inplace as writes
from ..tensor.arguments import convert
from ..tensor.autograd_meta import bump
from ..tensor.namespaces import ARRAY_OPS
from .decompositions import LOWER
from .meta_device import forward_of
from .torch_dispatch import OpOverload, as_called, ask, check_result, modes_below_autograd, named

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph.modes import Modes


def dispatched(op: Operator, args: tuple[Any, ...], m: Modes) -> Any:
    """The forward of ``op``, run by the innermost mode or by its arguments: the answer as ``op.forward`` gives it, and
    tensors.
    """
    lower = LOWER.get(op.name)
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
        answer = run(op, args, m, False)
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


def dispatched_inplace(op: Operator, args: tuple[Any, ...], m: Modes) -> None:
    """The in-place form of ``op``, run by the innermost mode."""
    run(op, args, m, True)


def run(op: Operator, args: tuple[Any, ...], m: Modes, inplace: bool) -> Any:
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
