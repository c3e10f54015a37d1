"""``accidental-broadcast``: a column of predictions meets a row of targets, and each is compared with every other."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ...tensor import Tensor
from ..findings import Finding
from ..places import place, variable
from ..record import shape_of
from ..rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..record import Event

#: Losses that broadcast, and what they are called.
_LOSSES = {"mse_loss": "mse_loss", "l1_loss": "l1_loss", "smooth_l1": "smooth_l1_loss", "huber": "huber_loss",
    "kl_div": "kl_div", "poisson_nll_loss": "poisson_nll_loss", "gaussian_nll_loss": "gaussian_nll_loss",
    "dist": "dist"}
_DIFFERENCES = frozenset(("sub", "rsub"))
_COMPARISONS = frozenset(("eq", "ne"))
#: What a difference or a comparison may go through before it is summed up.
_ELEMENTWISE = frozenset(("pow", "square", "abs", "mul", "div", "neg", "sqrt", "clamp", "clamp_min", "cast", "log1p",
    "where", "maximum", "logical_not"))
_SUMS = frozenset(("mean", "sum", "linalg_vector_norm", "nanmean", "count_nonzero"))
#: What a column may go through between the layer that it comes from and a comparison.
_DECIDING = frozenset(("gt", "ge", "lt", "le", "sigmoid", "round", "cast", "tanh", "sign", "argmax", "detach", "data"))
_LAYERS = frozenset(("linear", "addmm", "matmul", "mm"))
#: What makes a dimension of size 1 on purpose.
_EXPANDING = frozenset(("unsqueeze", "unsqueeze_index", "view", "reshape"))
_PASSING = frozenset(("squeeze", "transpose", "t", "permute", "flatten", "cast", "clone", "contiguous"))
_FAR = 6


class Broadcasts(Rule):
    """Tells an accident from a table of pairs by all of this: both sides have the same number of elements, so they are
    meant to be equal; one lacks exactly a dimension of size 1 of the other, which nobody has given it in this
    statement; one side is predicted and the other is not; and what is made of it is a sum or mean of all pairs.
    """

    def __init__(self, record: Any) -> None:
        super().__init__(record)
        self.pairs: dict[int, tuple[Event, Finding]] = {}  # by id, events that hold a table of pairs
        self.found: dict[Any, Finding] = {}  # by site
        self.step = -1

    def called(self, event: Event, call: Any, result: Any) -> None:
        name = event.name
        if name in _LOSSES:
            if event.wanted and (sides := _sides(call)):
                column, row, left = sides
                self.found.setdefault(event.site, _finding(event, column, row, f"{_LOSSES[name]}()", left))
        elif name in _DIFFERENCES or name in _COMPARISONS:
            if (sides := _sides(call)) and self._accident(event, call):
                column, row, left = sides
                self._begin(event, _finding(event, column, row, "" if name in _DIFFERENCES else "==", left))
        elif self.pairs:
            self._goes_on(event)

    def _begin(self, event: Event, finding: Finding) -> None:
        if event.step != self.step:
            self.pairs.clear()
            self.step = event.step
        self.pairs[id(event)] = event, finding

    def _goes_on(self, event: Event) -> None:
        known = next((self.pairs[id(i)] for i in event.inputs if id(i) in self.pairs), None)
        if known is None:
            return
        before, finding = known
        if event.name in _ELEMENTWISE and event.shape == before.shape:
            self.pairs[id(event)] = event, finding
        elif event.name in _SUMS and not event.shape and before.site is not None:
            self.found.setdefault((finding.file, finding.line), finding)

    def _accident(self, event: Event, call: Any) -> bool:
        """Whether what meets is a prediction and what it is compared with, and the column is none on purpose."""
        tensors = [x for x in call.args[:2] if isinstance(x, Tensor)]
        if len(tensors) != 2 or len(event.inputs) < 2:
            return False
        first, second = event.inputs[:2]
        column, row = (first, second) if tensors[0]._wg_data.ndim > tensors[1]._wg_data.ndim else (second, first)
        if column.name in _EXPANDING and (column.site is None or place(column.site) == event.place
                or _same(column, row)):
            return False
        if event.name in _DIFFERENCES:
            return first.recorded != second.recorded and not _same(column, row)
        for _ in range(_FAR):
            if column.name in _LAYERS:
                return column is not row
            if column.name not in _DECIDING or not column.inputs:
                return False
            column = column.inputs[0]
        return False

    def window_ended(self) -> Iterable[Finding]:
        found = list(self.found.values())
        self.found.clear()
        self.pairs.clear()
        return found


def _same(column: Event, row: Event) -> bool:
    """Whether both have the numbers of one tensor."""
    return _origin(column) is _origin(row)


def _origin(event: Event) -> Event:
    for _ in range(_FAR):
        if not event.inputs or not (event.name in _EXPANDING or event.name in _PASSING or event.kind == "cut"):
            break
        event = event.inputs[0]
    return event


def _sides(call: Any) -> tuple[Any, Any, bool] | None:
    """The two tensors, the one with the dimension of size 1 first, if they broadcast to pairs, and whether it is the
    first argument; else None.
    """
    given = (*call.args, *call.kwargs.values())[:2]
    if len(given) < 2 or not all(isinstance(x, Tensor) for x in given):
        return None
    left = given[0]._wg_data.ndim > given[1]._wg_data.ndim
    column, row = given if left else given[::-1]
    a, b = shape_of(column), shape_of(row)
    if len(a) != len(b) + 1 or prod(a) != prod(b) or prod(a) < 2 or 1 not in a or _where(a, b) < 0:
        return None
    return (column, row, left) if prod(_broadcast(a, b)) > prod(a) else None


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(max(m, n) for m, n in zip(a, (1,) * (len(a) - len(b)) + b))


def _where(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """Which dimension of ``a`` ``b`` lacks; -1 if it is not that."""
    return next((i for i in reversed(range(len(a))) if a[i] == 1 and a[:i] + a[i + 1 :] == b), -1)


def _finding(event: Event, column: Tensor, row: Tensor, what: str, left: bool) -> Finding:
    a, b = shape_of(column), shape_of(row)
    pairs, at = _broadcast(a, b), _where(a, b)
    effect = ("so the share of equal pairs is counted, not of right answers" if what == "==" else
        "so the predictions are drawn to the mean of all targets")
    sides = ("the left side", "the right side") if left else ("the right side", "the left side")
    one, other = (variable(t) or side for t, side in zip((column, row), sides))
    return Finding("accidental-broadcast", event.place, f"{what or 'The difference'} compares every value with "
        f"{prod(pairs) // prod(a)} others instead of its own: shapes {list(a)} and {list(b)} broadcast to "
        f"{list(pairs)}, {effect}.", f"give both the same shape: {_call(one, 'squeeze', at)}, or "
        f"{_call(other, 'unsqueeze', at)}", [],
        [f"{one} has shape {list(a)}{_made(event, column)}", f"{other} has shape {list(b)}{_made(event, row)}"])


def _call(name: str, method: str, at: int) -> str:
    return f"{method}({at}) of {name}" if name.startswith("the ") else f"{name}.{method}({at})"


def _made(event: Event, t: Tensor) -> str:
    made = next((i for i in event.inputs if i.tensor() is t and i.kind != "leaf"), None)
    return "" if made is None or made.place is None else f", made by {made.name} at {made.place}"
