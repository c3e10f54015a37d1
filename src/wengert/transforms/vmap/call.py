"""An operator called on batched tensors, as a rule sees it; and the rule that every operator has: one example after the
other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ops.structseq import rebuilt
from ...tensor.call import general
from ...tensor.classes import NATIVE_CALLS
from ...tensor.functions import function
from .batched import Batched, expanded, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...ops.operator import Operator
    from .batched import VmapLevel

    Rule = Callable[["Call"], Any]


class Call:
    """An operator call, as batching rules get it.

    ``values``: by parameter; of what is batched at this level the value, whose first dimension is the batch.
    ``batched``: the parameters (for lists of tensors: those with a batched element) of which that is so.
    """

    __slots__ = ("batched", "given", "level", "op", "size", "values")

    def __init__(self, op: Operator, args: tuple[Any, ...], level: VmapLevel) -> None:
        self.op, self.level, self.size = op, level, level.size
        self.given = dict(zip(op.params, args))
        self.values: dict[str, Any] = self.given.copy()
        self.batched: set[str] = set()
        for p, v in self.given.items():
            if type(v) is Batched:
                if v.level is level:
                    self.batched.add(p)
                    self.values[p] = v.value
            elif p in op.tensor_lists and any(type(x) is Batched and x.level is level for x in v):
                self.batched.add(p)

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
        """The tensor with ones behind the batch, so that it broadcasts against others of ``rank`` dimensions."""
        x = self.values[p]
        return ahead(x, rank - self.rank(p)) if p in self.batched else x

    def entire(self, p: str, rank: int) -> Any:
        """The tensor with a batch dimension in any case, and ``rank`` dimensions after it."""
        x = self.whole(p)
        missing = rank - self.rank(p)
        return function("reshape")(x, (self.size, *[1] * missing, *x._wg_data.shape[1:])) if missing > 0 else x

    def run(self, **changes: Any) -> Any:
        """The operator itself, on the values with ``changes``."""
        return called(self.op, [*(self.values | changes).values()])

    @property
    def tensors(self) -> list[str]:
        """The parameters that are tensors in this call."""
        return [p for p in self.op.tensors if hasattr(self.given[p], "_wg_data")]


def ahead(x: Any, missing: int) -> Any:
    """A value with so many dimensions of one behind its batch."""
    if missing <= 0:
        return x
    shape = x._wg_data.shape
    return function("reshape")(x, (shape[0], *[1] * missing, *shape[1:]))


def called(op: Operator, args: list[Any]) -> Any:
    """The operator as a user calls it, with arguments in the order of its parameters."""
    quick = NATIVE_CALLS.get(op.name)
    if quick is None:  # there is none, or it was not called yet
        return invoke(op, dict(zip(op.params, args)))
    answer = quick(*args)
    return general(op, tuple(args)) if answer is NotImplemented else answer


def invoke(op: Operator, values: dict[str, Any], call: Any = None) -> Any:
    """The public function of ``op`` (or its in-place form) with arguments by parameter."""
    params = op.params
    end = len(params) - op.kwonly
    if op.variadic:
        end = params.index(op.variadic) + 1
    return (call or function(op.name))(*[values[p] for p in params[:end]], **{p: values[p] for p in params[end:]})


def each(answer: Any, f: Callable[[Any], Any]) -> Any:
    """``f`` of an answer, or of each of several; named tuples stay what they are."""
    return rebuilt(answer, [f(x) for x in answer]) if isinstance(answer, tuple) else f(answer)


def holds_batched(args: Any) -> bool:
    """Whether some argument is a batched tensor, or a list with one."""
    for v in args:  # loops, for speed
        if type(v) is Batched:
            return True
        if type(v) is list or type(v) is tuple:
            for x in v:
                if type(x) is Batched:
                    return True
    return False


def innermost(args: Any) -> VmapLevel:
    """The map furthest in that some argument varies along."""
    found: Any = None
    for v in args:
        for x in v if type(v) is list or type(v) is tuple else (v,):
            if type(x) is Batched and (found is None or x.level.number > found.number):
                found = x.level
    return found  # type: ignore[no-any-return]


def refuse_write(target: Any, level: VmapLevel, name: str) -> None:
    """Refuse to write the batch of ``level`` to a tensor without one; ``name``: what PyTorch calls that."""
    if type(target) is Batched and target.level is level:
        return
    raise RuntimeError(f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in "
        "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` not "
        f"being vmapped over {f'at level {level.number}' if ':' in name else 'in a vmap'}. Please try to use "
        f"out-of-place operators instead of {name}. If said operator is being called inside the PyTorch framework, "
        "please file a bug report instead.")


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


def _example(x: Any, level: VmapLevel, i: int) -> Any:
    if type(x) is Batched and x.level is level:
        return function("select")(x.value, 0, i) if level.size else x.value.new_zeros(x.value.shape[1:])
    return x


def _stacked(rows: list[Any], size: int) -> Any:
    found = function("stack")(rows, 0)
    return found if size else function("narrow")(found, 0, 0, 0)
