"""``torch._foreach_*``: one operation on each tensor of a list, as optimizers written for PyTorch use them.

Each is made of the function of one tensor, so that it is recorded, promoted and differentiated as that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tensor.functions import function
from ..tensor.tensor import Tensor
from .places import PLACES

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
        raise TypeError(f"_foreach_{name}(): argument '{label}' (position {at + 1}) must be tuple of Tensors, not "
            f"{type(given).__name__}")
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
    """The second operand of each tensor."""
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


def _one(name: str, in_place: bool, other: Any = None) -> Callable[..., Any]:
    """The function of one tensor."""
    if in_place or name in _METHOD:
        name = _METHOD.get(name, name) if in_place or _is_number(other) else name
    return getattr(Tensor, name + "_") if in_place else PLACES["torch"][name]  # type: ignore[no-any-return]


def _each(in_place: bool, tensors: Any, results: Any) -> Any:
    """The answer: the tensors that were written to as they were given, or a tuple of new ones."""
    return tensors if in_place else tuple(results)


def _unary(name: str, in_place: bool) -> Callable[..., Any]:
    def each(self: Any) -> Any:
        row, one = _tensors(name + "_" * in_place, self), _one(name, in_place)
        found = [one(t) for t in row]
        return _each(in_place, self, found)

    return each


def _binary(name: str, in_place: bool) -> Callable[..., Any]:
    takes = _BINARY[name]

    def each(self: Any, other: Any, *, alpha: Any = None) -> Any:
        full_name = name + "_" * in_place
        # a number to the power of each
        if name == "pow" and not in_place and (_is_number(self) and isinstance(other, (list, tuple))):
            return tuple([PLACES["torch"]["pow"](self, t) for t in _tensors(full_name, other)])
        if not isinstance(self, (list, tuple)):
            _operands(full_name, self, None, takes, alpha)
        if "T" not in takes and isinstance(other, Tensor) and not other.ndim:
            other = other.item()
        row = _tensors(full_name, self)
        others = _operands(full_name, row, other, takes, alpha)
        scaled = {} if alpha is None else {"alpha": alpha}
        found = [_one(name, in_place, b)(a, b, **scaled) for a, b in zip(row, others)]
        return _each(in_place, self, found)

    return each


def _ternary(name: str, in_place: bool) -> Callable[..., Any]:
    def each(self: Any, tensor1: Any, tensor2: Any, scalars: Any = None, *, value: Any = None) -> Any:
        full_name = name + "_" * in_place
        row = _tensors(full_name, self)
        first, second = _paired(full_name, row, tensor1, 1, "tensor1"), _paired(full_name, row, tensor2, 2, "tensor2")
        given = value if value is not None else 1 if scalars is None else scalars
        if isinstance(given, Tensor):
            given = given.tolist()
            if len(given) != len(row):
                raise RuntimeError(f"Expected length of scalars to match input of length {len(row)} but got "
                    f"{len(given)} instead.")
        factors = _numbers(row, given) if isinstance(given, (list, tuple)) else [given] * len(row)
        one = _one(name, in_place)
        found = [one(a, b, c, value=v) for a, b, c, v in zip(row, first, second, factors)]
        return _each(in_place, self, found)

    return each


def _lerp(in_place: bool) -> Callable[..., Any]:
    def each(self: Any, tensors1: Any, weight: Any) -> Any:
        full_name = "lerp" + "_" * in_place
        row = _tensors(full_name, self)
        ends = _paired(full_name, row, tensors1, 1, "tensors1")
        if not isinstance(weight, (list, tuple)):
            weights = [weight] * len(row)
        else:
            weights = (_numbers(row, weight) if all(map(_is_number, weight))
                else _paired(full_name, row, weight, 2, "weights"))
        one = _one("lerp", in_place)
        found = [one(a, b, w) for a, b, w in zip(row, ends, weights)]
        return _each(in_place, self, found)

    return each


def _norm(self: Any, ord: Any = 2, dtype: Any = None) -> Any:
    return tuple([function("linalg_vector_norm")(t, ord, dtype=dtype) for t in _tensors("norm", self)])


def _powsum(self: Any, ord: Any = 2, dtype: Any = None) -> Any:
    return tuple([t.abs().pow(ord).sum(dtype=dtype) for t in _tensors("powsum", self)])


def _copy(self: Any, src: Any, non_blocking: bool = False) -> Any:
    row = _tensors("copy_", self)
    for t, s in zip(row, _paired("copy_", row, src, 1, "src")):
        t.copy_(s)
    return self


def _zero(self: Any) -> Any:
    for t in _tensors("zero_", self):
        t.zero_()
    return self


def _mm(self: Any, mat2: Any) -> Any:
    row = _tensors("mm", self)
    return tuple([a.mm(b) for a, b in zip(row, _paired("mm", row, mat2, 1, "mat2"))])


def _all() -> dict[str, Callable[..., Any]]:
    made: dict[str, Callable[..., Any]] = {
        "norm": _norm, "powsum": _powsum, "copy_": _copy, "zero_": _zero, "mm": _mm,
        "max": lambda self: tuple([t.max() for t in _tensors("max", self)]),
        "clone": lambda self: tuple([t.clone() for t in _tensors("clone", self)]),
    }
    for in_place in (False, True):
        mark = "_" * in_place
        made |= {name + mark: _unary(name, in_place) for name in _UNARY}
        made |= {name + mark: _binary(name, in_place) for name in _BINARY}
        made |= {name + mark: _ternary(name, in_place) for name in ("addcmul", "addcdiv")}
        made["lerp" + mark] = _lerp(in_place)
    for name, f in made.items():
        f.__name__ = f.__qualname__ = f"_foreach_{name}"
        f.__doc__ = f"``{name}`` of each tensor of a list."
    return {f.__name__: f for f in made.values()}


FUNCTIONS = _all()
