"""``torch._foreach_*``: one operation on each tensor of a list, as optimizers written for PyTorch use them.

Each is made of the function of one tensor, so that it is recorded, promoted and differentiated as that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ops.errors import must_be
from ..tensor.functions import function
from ..tensor.tensor import Tensor
from .places import PLACES, described

if TYPE_CHECKING:
    from collections.abc import Callable

# What the second argument may be beside a list of tensors: N a number, S a list of numbers, T a 0-d tensor. ``alpha``:
# may be scaled.
_BINARY = {
    "add": "NST alpha", "sub": "NST alpha", "mul": "NST", "div": "NST", "pow": "NS", "maximum": "NS", "minimum": "NS",
    "clamp_max": "NS", "clamp_min": "NS",
}
_UNARY = ("abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac",
    "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh",
    "sqrt", "tan", "tanh", "trunc")
_METHOD = {"maximum": "clamp_min", "minimum": "clamp_max"}  # with a number, and in place


def _tensors(name: str, given: Any, at: int = 0, label: str = "self") -> list[Tensor]:
    if not isinstance(given, (list, tuple)):
        raise must_be(f"_foreach_{name}", label, at + 1, given, "tuple of Tensors")
    for i, t in enumerate(given):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument {at}, but got {type(t).__name__}")
    if not at and not given:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return list(given)


def _paired(name: str, tensors: list[Tensor], others: Any, at: int, label: str) -> list[Tensor]:
    row = _tensors(name, others, at, label)
    if len(row) != len(tensors):
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(row)}")
    return row


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex))


def _operands(name: str, tensors: Any, other: Any, takes: str, alpha: Any) -> list[Any]:
    lists = isinstance(other, (list, tuple))
    if isinstance(other, Tensor) and "T" in takes:
        if other.dim() or (alpha is not None and name == "sub"):
            raise RuntimeError(f"scalar tensor expected to be 0 dim but it has {other.dim()} dimensions and "
                f"{other.numel()} elements.")
        return [other] * len(tensors)
    if _is_number(other) and alpha is None:
        return [other] * len(tensors)
    if lists and other and all(map(_is_number, other)) and alpha is None:
        return _numbers(tensors, other)
    if lists and not (alpha is not None and "alpha" not in takes):
        return _paired(name, tensors, other, 1, "other")
    more = "" if alpha is None else f", alpha={type(alpha).__name__}"
    raise TypeError(f"_foreach_{name}() received an invalid combination of arguments - got ({type(tensors).__name__}, "
        f"{type(other).__name__}{more}), but expected a tuple of Tensors and a number, a tuple of numbers or a tuple "
        "of Tensors")


def _numbers(tensors: list[Tensor], values: Any) -> list[Any]:
    if len(values) != len(tensors):
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return list(values)


def _one(name: str, mark: str, other: Any = None) -> Callable[..., Any]:
    if mark or _is_number(other):
        name = _METHOD.get(name, name)
    return getattr(Tensor, name + "_") if mark else PLACES["torch"][name]  # type: ignore[no-any-return]


def _unary(name: str, one: Callable[..., Any]) -> Callable[..., Any]:
    def each(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = [one(t, *args, **kwargs) for t in _tensors(name, self)]
        return self if name.endswith("_") else tuple(found)

    return each


def _paired_with(name: str, parameter: str) -> Callable[..., Any]:
    def each(self: Any, others: Any, *args: Any, **kwargs: Any) -> Any:
        row, one = _tensors(name, self), getattr(Tensor, name)
        found = [one(a, b, *args, **kwargs) for a, b in zip(row, _paired(name, row, others, 1, parameter))]
        return self if name.endswith("_") else tuple(found)

    return each


def _binary(name: str, mark: str) -> Callable[..., Any]:
    takes, full_name = _BINARY[name], name + mark

    def each(self: Any, other: Any, *, alpha: Any = None) -> Any:
        if full_name == "pow" and _is_number(self) and isinstance(other, (list, tuple)):
            return tuple([PLACES["torch"]["pow"](self, t) for t in _tensors(full_name, other)])
        if not isinstance(self, (list, tuple)):
            _operands(full_name, self, None, takes, alpha)
        if "T" not in takes and isinstance(other, Tensor) and not other.ndim:
            other = other.item()
        row = _tensors(full_name, self)
        others = _operands(full_name, row, other, takes, alpha)
        scaled = {} if alpha is None else {"alpha": alpha}
        found = [_one(name, mark, b)(a, b, **scaled) for a, b in zip(row, others)]
        return self if mark else tuple(found)

    return each


def _ternary(name: str, mark: str) -> Callable[..., Any]:
    full_name, one = name + mark, _one(name, mark)

    def each(self: Any, tensor1: Any, tensor2: Any, scalars: Any = None, *, value: Any = None) -> Any:
        row = _tensors(full_name, self)
        first, second = _paired(full_name, row, tensor1, 1, "tensor1"), _paired(full_name, row, tensor2, 2, "tensor2")
        given = value if value is not None else 1 if scalars is None else scalars
        if isinstance(given, Tensor):
            given = given.tolist()
            if len(given) != len(row):
                raise RuntimeError(f"Expected length of scalars to match input of length {len(row)} but got "
                    f"{len(given)} instead.")
        factors = _numbers(row, given) if isinstance(given, (list, tuple)) else [given] * len(row)
        found = [one(a, b, c, value=v) for a, b, c, v in zip(row, first, second, factors)]
        return self if mark else tuple(found)

    return each


def _lerp(mark: str) -> Callable[..., Any]:
    full_name, one = "lerp" + mark, _one("lerp", mark)

    def each(self: Any, tensors1: Any, weight: Any) -> Any:
        row = _tensors(full_name, self)
        ends = _paired(full_name, row, tensors1, 1, "tensors1")
        if not isinstance(weight, (list, tuple)):
            weights = [weight] * len(row)
        else:
            weights = (_numbers(row, weight) if all(map(_is_number, weight))
                else _paired(full_name, row, weight, 2, "weights"))
        found = [one(a, b, w) for a, b, w in zip(row, ends, weights)]
        return self if mark else tuple(found)

    return each


def _all() -> dict[str, Callable[..., Any]]:
    made: dict[str, Callable[..., Any]] = {
        "norm": _unary("norm", lambda t, ord=2, dtype=None: function("linalg_vector_norm")(t, ord, dtype=dtype)),
        "powsum": _unary("powsum", lambda t, ord=2, dtype=None: t.abs().pow(ord).sum(dtype=dtype)),
        "max": _unary("max", lambda t: t.max()), "clone": _unary("clone", lambda t: t.clone()),
        "zero_": _unary("zero_", lambda t: t.zero_()),
        "copy_": _paired_with("copy_", "src"), "mm": _paired_with("mm", "mat2"),
    }
    for mark in ("", "_"):
        made |= {name + mark: _unary(name + mark, _one(name, mark)) for name in _UNARY}
        made |= {name + mark: _binary(name, mark) for name in _BINARY}
        made |= {name + mark: _ternary(name, mark) for name in ("addcmul", "addcdiv")}
        made["lerp" + mark] = _lerp(mark)
    return {f"_foreach_{name}": described(f, f"_foreach_{name}", f"``{name}`` of each tensor of a list.")
        for name, f in made.items()}


FUNCTIONS = _all()
