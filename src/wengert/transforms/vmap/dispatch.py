"""How an operator is done on batched tensors: the rule is found, called on the values, and its answer wrapped.

A rule is a function of a ``Call``. Which one an operator has is decided by what it declares and by its family (the file
that it stands in); ``rules`` has the table. An operator without a rule is done example by example: slower, never wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import dtypes as dt
from ...dispatch.torch_dispatch import named
from ...graph.interceptors import Call as InterceptedCall
from ...graph.interceptors import Interceptor
from ...graph.modes import MAPS, modes
from ...tensor.classes import KNOWN, UNSET
from ...tensor.functions import inplace_function
from ...tensor.inplace import refuse_recorded
from . import indexing, products, rules
from .batched import Batched, all_alike, plain, repeated, with_batched_primal, wrapped
from .call import Call, ahead, called, each, holds_batched, innermost, invoke, one_by_one, refuse_write
from .rules import PROMOTING, pointwise

if TYPE_CHECKING:

    from ...graph.modes import Modes
    from ...ops.operator import Operator
    from .batched import VmapLevel
    from .call import Rule


class Maps(Interceptor):
    """``vmap``: an operator on batched tensors runs once on their values, with the batch as a dimension."""

    order, by_class = MAPS, True

    def applies_to(self, call: InterceptedCall) -> bool:
        return (call.kind in ("operator", "inplace")
            and (holds_batched(call.args) or (call.out is not None and holds_batched((call.out,)))))

    def intercept(self, call: InterceptedCall, call_next: Any) -> Any:
        if call.kind == "inplace":
            return mapped_inplace(call.op, call.args)
        for a in call.args:
            if a is UNSET:
                return call_next(call)  # which says what is missing
        return mapped(call.op, call.args, call.out, modes())

    @staticmethod
    def short(op: Operator, args: tuple[Any, ...], m: Modes) -> Any:
        """The operator on batched tensors; ``NotImplemented`` where there are none, or the general path is needed."""
        level: Any = None
        for v in args:
            kind = type(v)
            if kind is Batched:
                if level is None or v.level.number > level.number:
                    level = v.level
            elif kind is list or kind is tuple:
                for x in v:
                    kind = type(x)
                    if kind is Batched:
                        if level is None or x.level.number > level.number:
                            level = x.level
                    elif kind not in KNOWN:
                        return NotImplemented
            elif kind not in KNOWN:
                return NotImplemented
        if level is None:
            return NotImplemented
        if level.over or m.levels or level.randomness == "same":
            return mapped(op, args, None, m)
        return _mapped(op, args, level)


def _check_running(level: VmapLevel, where: str) -> None:
    """Refuse the tensor of a map that is over."""
    if level.over:
        raise RuntimeError("Either your tensor may have escaped from inside a function being vmapped and this is a "
            "user error (see https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal "
            f"functorch error in `{where}` Please file an issue if it looks like the latter. A mapped function hands "
            "its tensors out by returning them.")


def mapped(op: Operator, args: tuple[Any, ...], out: Any, m: Modes) -> Any:
    """The operator on batched tensors."""
    if out is not None:
        refuse_recorded(op, (), {"": [plain(x) for x in args if type(x) is Batched and not x._innermost()]}, m)
        raise RuntimeError(f"Batching rule not implemented for aten::{op.name}.out; the fallback path doesn't work on "
            "out= or view ops.")
    level = innermost(args)
    _check_running(level, "gen_vmap_plumbing")
    if m.levels:
        args = tuple(with_batched_primal(v, level) for v in args)
    answer = _mapped(op, args, level)
    if level.randomness == "same" and all_alike(args, level):
        for t in answer if isinstance(answer, tuple) else (answer,):
            repeated(t, (level,))
    return answer


def _mapped(op: Operator, args: tuple[Any, ...], level: VmapLevel) -> Any:
    rule = _found.get(op.name) or rule_of(op)
    if rule is pointwise:
        values = _aligned(op, args, level)
        if values is not None:
            return _hidden(called(op, values), level)
    return _hidden(rule(Call(op, args, level)), level)


def _aligned(op: Operator, args: tuple[Any, ...], level: VmapLevel) -> list[Any] | None:
    """The values of elementwise operands, aligned; None where the type of the result depends on which are numbers."""
    low = high = -1  # the least and largest rank of those with a batch
    most, numbers, mixed = 0, False, False
    row: list[Any] = []
    dtype: Any = None
    for v in args:
        if hasattr(v, "_wg_data"):
            a = v._wg_data
            n = a.ndim
            if dtype is None:
                dtype = a.dtype
            elif a.dtype is not dtype:
                mixed = True
            if type(v) is Batched and v.level is level:
                low, high = n if low < 0 else min(low, n), max(high, n)
                v = v.value
            else:
                most, numbers = max(most, n), numbers or n == 0
        row.append(v)
    if mixed and (low != high or most > high or (numbers and (op.promote or op.name in PROMOTING))):
        return None
    rank = max(high, most)
    if low < rank:
        for i, v in enumerate(args):
            if type(v) is Batched and v.level is level:
                row[i] = ahead(row[i], rank - v._wg_data.ndim)
    return row


def _hidden(answer: Any, level: VmapLevel) -> Any:
    """An answer with its batch dimension hidden."""
    return each(answer, lambda x: wrapped(x, level)) if isinstance(answer, tuple) else wrapped(answer, level)


_ELEMENTWISE = {"pointwise", "compare", "elementary", "activation", "pairs", "rounding", "special", "complexes"}
_ALONG = {"reduce", "scan", "sorting", "linalg_norms", "activation"}
_MATRICES = {"linalg", "linalg_solve", "linalg_spectral"}
_found: dict[str, Rule] = {}


def choose(op: Operator) -> Rule:
    """The rule of an operator: its own, or that of its family, or example by example."""
    for table in (rules.RULES, products.RULES, indexing.RULES):
        if op.name in table:
            return table[op.name]
    family = op.forward.__module__.rpartition(".")[2]
    if op.outputs is ... or op.tensor_lists:
        return one_by_one
    if family in _ALONG and "dim" in op.params and len(op.tensors) == 1:
        return rules.along
    if family in _ELEMENTWISE and "dim" not in op.params:
        return pointwise
    if family in _MATRICES and len(op.tensors) == 1:
        return rules.trailing
    return one_by_one


def rule_of(op: Operator) -> Rule:
    """The operator's rule."""
    rule = _found.get(op.name)
    if rule is None:
        rule = _found[op.name] = choose(op)
    return rule


# What PyTorch's vmap calls the write of a batch to a tensor without one: these have a rule of their own and go by one
# name,
_ARITHMETIC = frozenset(("sub", "mul", "div", "div_rounded", "copy", "logical_and", "logical_or", "logical_xor",
    "masked_fill", "clamp_min_tensor", "clamp_max_tensor"))
# these by their own, and all others as aten::name_;
_BATCHED = frozenset(("fill_", "index_put_", "index_add_", "index_fill_", "scatter_add_"))
_BROADCAST = frozenset(("add", "atan2", "copysign"))  # and of these it is the shape of the result that does not fit


def _keeps(call: Call, shape: tuple[int, ...]) -> bool:
    """Whether the result of an elementwise operator has this shape."""
    shapes = [call.shape(p) for p in call.tensors]
    return shapes == [shape] * len(shapes) or np.broadcast_shapes(*shapes) == shape


def mapped_inplace(op: Operator, args: tuple[Any, ...]) -> Any:
    """The in-place form: the value's memory is written to, which every view of it shares."""
    target, level = args[0], innermost(args)
    _check_running(level, "gen_vmap_inplace_plumbing")
    rule = rule_of(op)
    arithmetic = rule is pointwise or op.name in ("copy", "fill")
    if type(target) is not Batched or target.level is not level:
        if op.name in _BROADCAST:
            shape = (level.size, *np.broadcast_shapes(target._wg_data.shape, args[1]._wg_data.shape))
            raise RuntimeError(f"output with shape {list(target._wg_data.shape)} doesn't match the broadcast shape "
                f"{list(shape)}")
        op_name = named(op, args, inplace=True)._opname
        refuse_write(target, level,
            "inplace arithmetic" if op.name in _ARITHMETIC else op_name if op_name in _BATCHED else f"aten::{op_name}")
    call = Call(op, tuple(with_batched_primal(v, level) for v in args) if modes().levels else args, level)
    value = target.value
    if op.name == "copy" or (op.name == "fill" and "value" in call.batched):
        inplace_function("copy")(value, call.aligned(op.params[1], target._wg_data.ndim))
    elif arithmetic and len(call.tensors) == 1:
        invoke(op, call.values, inplace_function(op.name))
    elif arithmetic and _keeps(call, target._wg_data.shape):
        aligned = {p: call.aligned(p, target._wg_data.ndim) for p in call.tensors}
        invoke(op, {**call.values, **aligned}, inplace_function(op.name))
    else:
        if modes().grad:  # a rule may need the value that is about to be overwritten
            call.values[op.params[0]] = value.clone()
        answer = rule(call)
        y = answer[0] if isinstance(answer, tuple) else answer
        if not dt.can_cast(y._wg_data.dtype, value._wg_data.dtype):
            have, want = dt.scalar_name(y._wg_data.dtype), dt.scalar_name(value._wg_data.dtype)
            raise RuntimeError(f"result type {have} can't be cast to the desired output type {want}")
        if y._wg_data.shape != value._wg_data.shape:
            raise RuntimeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape "
                f"{list(y.shape[1:])}")
        inplace_function("copy")(value, y)
    target._wg_vc = value._wg_vc
    return target
