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
from ...ops.structseq import rebuilt
from ...tensor.classes import UNSET
from ...tensor.functions import function, inplace_function
from ...tensor.inplace import refuse_recorded
from .batched import Batched, all_alike, expanded, plain, repeated, settled, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph.modes import Modes
    from ...ops.operator import Operator
    from .batched import Level

    Rule = Callable[["Call"], Any]


class Call:
    """An operator with its arguments as a rule wants them.

    ``values``: by parameter; of what is batched at this level the value, whose first dimension is the batch.
    ``batched``: the parameters (for lists of tensors: those with a batched element) of which that is so.
    """

    __slots__ = ("batched", "given", "level", "op", "size", "values")

    def __init__(self, op: Operator, args: tuple[Any, ...], level: Level) -> None:
        self.op, self.level, self.size = op, level, level.size
        self.given = dict(zip(op.params, args))
        self.values: dict[str, Any] = {}
        self.batched: set[str] = set()
        for p, v in self.given.items():
            if type(v) is Batched and v.level is level:
                self.batched.add(p)
                v = v.value
            elif p in op.tensor_lists and any(type(x) is Batched and x.level is level for x in v):
                self.batched.add(p)
            self.values[p] = v

    def __getitem__(self, p: str) -> Any:
        return self.values[p]

    def rank(self, p: str) -> int:
        """The number of dimensions that the mapped function sees."""
        return self.given[p]._wg_data.ndim

    def shape(self, p: str) -> tuple[int, ...]:
        """The shape that the mapped function sees."""
        return self.given[p]._wg_data.shape

    def whole(self, p: str) -> Any:
        """The tensor with a batch dimension in front in any case."""
        return self.values[p] if p in self.batched else expanded(self.values[p], self.level)

    def row(self, p: str) -> list[Any]:
        """The tensors of a list, each with a batch dimension (None where there is none)."""
        return [None if x is None else expanded(x, self.level) for x in self.given[p]]

    def aligned(self, p: str, rank: int) -> Any:
        """The tensor so that it broadcasts against others of ``rank`` dimensions: ones between the
        batch and the rest.
        """
        x = self.values[p]
        missing = rank - self.rank(p)
        if p not in self.batched or missing <= 0:
            return x
        shape = x._wg_data.shape
        return function("reshape")(x, (shape[0], *[1] * missing, *shape[1:]))

    def entire(self, p: str, rank: int) -> Any:
        """The tensor with a batch dimension in any case, and ``rank`` dimensions after it."""
        x = self.whole(p)
        missing = rank - self.rank(p)
        return function("reshape")(x, (self.size, *[1] * missing, *x._wg_data.shape[1:])) if missing > 0 else x

    def run(self, **changes: Any) -> Any:
        """The operator itself, on the values with ``changes``."""
        return invoke(self.op, {**self.values, **changes})

    @property
    def tensors(self) -> list[str]:
        """The parameters that are tensors in this call."""
        return [p for p in self.op.tensors if hasattr(self.given[p], "_wg_data")]


def invoke(op: Operator, values: dict[str, Any], call: Any = None) -> Any:
    """The public function of ``op`` (or its in-place form) with arguments by parameter."""
    params = op.params
    end = len(params) - op.kwonly
    if op.variadic:
        end = params.index(op.variadic) + 1
    return (call or function(op.name))(*[values[p] for p in params[:end]], **{p: values[p] for p in params[end:]})


def holds_batched(args: Any) -> bool:
    """Whether some argument is a batched tensor, or a list with one."""
    return any(type(v) is Batched or (type(v) in (list, tuple) and any(type(x) is Batched for x in v)) for v in args)


class Maps(Interceptor):
    """``vmap``: an operator on batched tensors is the same operator on the values, told where the batch is."""

    order = MAPS

    def concerns(self, call: InterceptedCall) -> bool:
        return (call.kind in ("operator", "inplace")
            and (holds_batched(call.args) or (call.out is not None and holds_batched((call.out,)))))

    def intercept(self, call: InterceptedCall, below: Any) -> Any:
        if call.kind == "inplace":
            return mapped_inplace(call.op, call.args)
        if any(a is UNSET for a in call.args):
            return below(call)  # which says what is missing
        return mapped(call.op, call.args, call.out, modes())


def innermost(args: Any) -> Level:
    """The map furthest in that some argument varies along."""
    levels = [x.level for v in args for x in (v if type(v) in (list, tuple) else (v,)) if type(x) is Batched]
    return max(levels, key=lambda level: level.number)


def _check_running(level: Level, where: str) -> None:
    """Refuse the tensor of a map that is over."""
    if level.over:
        raise RuntimeError(
            "Either your tensor may have escaped from inside a function being vmapped and this is a user error (see "
            "https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal functorch error in "
            f"`{where}` Please file an issue if it looks like the latter. A mapped function hands its tensors out by "
            "returning them."
        )


def mapped(op: Operator, args: tuple[Any, ...], out: Any, m: Modes) -> Any:
    """The operator on batched tensors."""
    if out is not None:
        refuse_recorded(op, (), {"": [plain(x) for x in args if type(x) is Batched and not x._innermost()]}, m)
        raise RuntimeError(
            f"Batching rule not implemented for aten::{op.name}.out; the fallback path doesn't work on out= or view "
            "ops."
        )
    level = innermost(args)
    _check_running(level, "gen_vmap_plumbing")
    if m.levels:
        args = tuple(settled(v, level) for v in args)
    answer = _mapped(op, args, level)
    if level.randomness == "same" and all_alike(args, level):
        for t in answer if isinstance(answer, tuple) else (answer,):
            repeated(t, (level,))
    return answer


def _mapped(op: Operator, args: tuple[Any, ...], level: Level) -> Any:
    rule = rule_of(op)
    if rule is _elementwise and not (op.kwonly or op.variadic):
        values = _aligned(args, level, op.promote)
        if values is not None:
            return _hidden(function(op.name)(*values), level)
    return _hidden(rule(Call(op, args, level)), level)


def _aligned(args: tuple[Any, ...], level: Level, promote: Any) -> list[Any] | None:
    """The values of elementwise operands that need no aligning, which is most of them; None for others."""
    ranks: set[int] = set()
    others, row = [], []
    for v in args:
        if type(v) is Batched and v.level is level:
            ranks.add(v._wg_data.ndim)
            v = v.value
        elif hasattr(v, "_wg_data"):
            others.append(v._wg_data.ndim)
        row.append(v)
    if len(ranks) != 1:
        return None
    (rank,) = ranks
    for n in others:
        if n > rank or (n == 0 and rank and promote):
            return None
    return row


def _hidden(answer: Any, level: Level) -> Any:
    """An answer with its batch dimension hidden; named tuples stay what they are."""
    if isinstance(answer, tuple):
        row = [wrapped(x, level) for x in answer]
        return rebuilt(answer, row)
    return wrapped(answer, level)


_found: dict[str, Rule] = {}


def rule_of(op: Operator) -> Rule:
    """The operator's rule."""
    rule = _found.get(op.name)
    if rule is None:
        from .rules import choose, pointwise

        global _elementwise
        _elementwise = pointwise
        rule = _found[op.name] = choose(op)
    return rule


_elementwise: Any = None  # the rule of that name, once it is there


# What PyTorch's vmap calls the write of a batch to a tensor without one: these have a rule of their own and go by one
# name,
_ARITHMETIC = frozenset((
    "sub", "mul", "div", "div_rounded", "copy", "logical_and", "logical_or", "logical_xor", "masked_fill",
    "clamp_min_tensor", "clamp_max_tensor",
))  # fmt: skip
# these by their own, and all others as aten::name_;
_BATCHED = frozenset(("fill_", "index_put_", "index_add_", "index_fill_", "scatter_add_"))
_BROADCAST = frozenset(("add", "atan2", "copysign"))  # and of these it is the shape of the result that does not fit


def refuse_write(target: Any, level: Level, name: str) -> None:
    """Refuse to write the batch of ``level`` to a tensor without one; ``name``: what PyTorch calls that."""
    if type(target) is Batched and target.level is level:
        return
    raise RuntimeError(
        f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
        "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over "
        f"{f'at level {level.number}' if ':' in name else 'in a vmap'}. Please try to use "
        f"out-of-place operators instead of {name}. If said operator is being called inside the PyTorch framework, "
        "please file a bug report instead."
    )


def mapped_inplace(op: Operator, args: tuple[Any, ...]) -> Any:
    """The in-place form: the value's memory is written to, which every view of it shares."""
    from .rules import pointwise

    target, level = args[0], innermost(args)
    _check_running(level, "gen_vmap_inplace_plumbing")
    rule = rule_of(op)
    arithmetic = rule is pointwise or op.name in ("copy", "fill")
    if type(target) is not Batched or target.level is not level:
        if op.name in _BROADCAST:
            shape = (level.size, *np.broadcast_shapes(target._wg_data.shape, args[1]._wg_data.shape))
            raise RuntimeError(f"output with shape {list(target._wg_data.shape)} doesn't match the broadcast shape "
                f"{list(shape)}")
        called = named(op, args, inplace=True)._opname
        refuse_write(target, level,
            "inplace arithmetic" if op.name in _ARITHMETIC else called if called in _BATCHED else f"aten::{called}")
    call = Call(op, tuple(settled(v, level) for v in args) if modes().levels else args, level)
    value = target.value
    if op.name == "copy" or (op.name == "fill" and "value" in call.batched):
        inplace_function("copy")(value, call.aligned(op.params[1], target._wg_data.ndim))
    elif arithmetic and len(call.tensors) == 1:
        invoke(op, call.values, inplace_function(op.name))
    elif arithmetic and np.broadcast_shapes(*map(call.shape, call.tensors)) == target._wg_data.shape:
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


def one_by_one(call: Call) -> Any:
    """The rule of last resort: each example by itself."""
    op, size = call.op, call.size
    select = function("select")
    answers = []
    for i in range(size or 1):
        row: dict[str, Any] = {}
        for p, v in call.values.items():
            if p not in call.batched:
                row[p] = v
            elif p in op.tensor_lists:
                row[p] = [_example(x, call.level, i) for x in call.given[p]]
            else:
                row[p] = select(v, 0, i) if size else v.new_zeros(v.shape[1:])
        answers.append(invoke(op, row))
    first = answers[0]
    if not isinstance(first, tuple):
        return _stacked(answers, size)
    columns = [_stacked(list(c), size) for c in zip(*answers)]
    return rebuilt(first, columns)


def each_example(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``f``, any function of tensors, called for one example after the other; its results as batched tensors."""
    level = innermost((*args, *kwargs.values()))
    answers = []
    for i in range(level.size or 1):
        row = [[_example(x, level, i) for x in v] if type(v) is list else _example(v, level, i) for v in args]
        answers.append(f(*row, **{k: _example(v, level, i) for k, v in kwargs.items()}))
    if not isinstance(answers[0], tuple):
        return wrapped(_stacked(answers, level.size), level)
    return tuple(wrapped(_stacked(list(c), level.size), level) for c in zip(*answers))


def _example(x: Any, level: Level, i: int) -> Any:
    if type(x) is Batched and x.level is level:
        return function("select")(x.value, 0, i) if level.size else x.value.new_zeros(x.value.shape[1:])
    return x


def _stacked(rows: list[Any], size: int) -> Any:
    found = function("stack")(rows, 0)
    return found if size else function("narrow")(found, 0, 0, 0)
