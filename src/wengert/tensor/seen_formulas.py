"""PyTorch's formulas of gradients, step by step, for those who watch: see ``seen_rules``.

Each takes the gradient and the values that the node has by name (``seen``: what it was called with, shapes and strides of tensors,
numbers), and gives the same gradient as the rule of the table. A rule of all arguments at once, of ``(g, values, needs)``, may give
None: then the table's is taken. C++ evaluates the factors of a product from the right: so values have names here that would need none.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..graph.modes import modes
from .creation import scalar_tensor, zeros, zeros_like
from .dispatch import ask, aten
from .spaces import RECORDED as F

if TYPE_CHECKING:
    from collections.abc import Callable


def _zero(like: Any) -> Any:
    return scalar_tensor(0.0, dtype=like.dtype)


def _times(x: Any, alpha: Any) -> Any:
    return x if alpha == 1 else x * alpha


# -- elements -------------------------------------------------------------------------------------------------------------


def _of_quotient(g: Any, v: Any) -> Any:
    twice = (v["input"] / v["other"]) / v["other"]
    return -g * twice


def _reciprocal(g: Any, v: Any) -> Any:
    square = v["result"] * v["result"]
    return -g * square


def _pow(g: Any, v: Any, needs: Any) -> Any:
    x, exponent, seen = v["input"], v["exponent"], v["seen"]
    base = seen.get("input")
    numbers = isinstance(seen.get("exponent"), (int, float)), isinstance(base, (int, float))
    if numbers[0] or (numbers[1] and base <= 0) or g.is_complex():
        return None
    found: list[Any] = [None, None]
    if needs[1] and numbers[1]:
        found[1] = g * (v["result"] * math.log(base))
    elif needs[1]:
        late = exponent >= 0
        nowhere = F.logical_and(x == 0, late)
        slope = v["result"] * x.log()
        found[1] = g * F.where(nowhere, _zero(g), slope)
    if needs[0]:
        slope = g * (exponent * x.pow(exponent - 1))
        zero = _zero(g)
        found[0] = F.where(exponent == 0, zero, slope)
    return found


def _maximum(larger: bool) -> dict[str, Any]:
    """What is equal is shared; what is beyond the other has none."""

    def rule(g: Any, v: Any, first: bool) -> Any:
        a, b = v["input"], v["other"]
        half = g / 2
        return F.where(a == b, half, g).masked_fill_(a < b if first is larger else a > b, 0)

    return {"input": lambda g, v: rule(g, v, True), "other": lambda g, v: rule(g, v, False)}


def _clamp(g: Any, v: Any) -> Any:
    x, low, high = v["input"], v.get("min"), v.get("max")
    zero = _zero(g)
    if low is not None and high is not None:
        return F.where((x >= low).logical_and_(x <= high), g, zero)
    return F.where(x >= low if low is not None else x <= high, g, zero)


def _atan2(g: Any, v: Any, needs: Any) -> list[Any]:
    a, b = v["input"], v["other"]
    low = b * b
    squares = a * a + low
    inverse = squares.reciprocal()
    inverse = inverse.masked_fill(squares == 0, 0)
    first = g * b * inverse if needs[0] else None
    return [first, g * -a * inverse if needs[1] else None]


def _hypot(name: str) -> Callable[..., Any]:
    return lambda g, v: g * v[name] / v["result"]


def _atanh(g: Any, v: Any) -> Any:
    below = _number_minus(1, v["input"].pow(2))
    return g * 1 / below


def _lerp(g: Any, v: Any) -> Any:
    return g * _number_minus(1, v["weight"])


def _nansum(g: Any, v: Any) -> Any:
    x, dim = v["input"], v["dim"]
    known = x.isnan().logical_not()
    return _sum(g, {"input_shape": tuple(x.shape), "dim": dim, "keepdim": v["keepdim"]}) * known


def _taken(g: Any, v: Any) -> Any:
    return F.expand(F.index_select(g, v["dim"], v["index"]), v["seen"]["source"][0])


def _unsqueezed(g: Any, v: Any) -> Any:
    shape, dim = v["input_shape"], v["dim"]
    for d in range(len(shape)) if dim is None else _dims(dim, len(shape)):
        if shape[d] == 1:
            g = F.unsqueeze(g, d)
    return g


def _times_other(other: str) -> Callable[..., Any]:
    return lambda g, v: g * (v[other] * v["value"])


def _addcdiv(g: Any, v: Any, needs: Any) -> list[Any]:
    a, b, value = v.get("tensor1"), v.get("tensor2"), v["value"]
    found: list[Any] = [g if needs[0] else None, None, None]
    if needs[1]:
        found[1] = g * _number_over(value, b)
    if needs[2]:
        square = b * b
        slope = (a * value) / square
        found[2] = -g * slope
    return found


def _number_over(value: Any, x: Any) -> Any:
    from .creation import empty_like

    return empty_like(x).fill_(value).div_(x)


def _number_minus(value: Any, x: Any) -> Any:
    from .creation import empty_like

    return empty_like(x).fill_(value).sub_(x)


def _nan_to_num(g: Any, v: Any) -> Any:
    x = v["input"]
    finite = (x.abs() != math.inf)
    return g * ((x == x) * finite)


def _where(g: Any, v: Any, needs: Any) -> list[Any]:
    found: list[Any] = [None, None]
    if needs[0]:
        found[0] = F.where(v["condition"], g, _zero(g))
    if needs[1]:
        found[1] = F.where(v["condition"], _zero(g), g)
    return found


# -- reductions -----------------------------------------------------------------------------------------------------------


def _dims(dim: Any, rank: int) -> list[int]:
    """The dimensions of a reduction, in order."""
    if not rank:
        return []
    every = range(rank) if dim is None or (type(dim) is not int and not len(dim)) else (dim,) if type(dim) is int else dim
    return sorted(d % rank for d in every)


def _opened(x: Any, dim: Any, keepdim: Any, rank: int) -> Any:
    """``x`` with the dimensions of a reduction put back, one after the other."""
    if not keepdim:
        for d in _dims(dim, rank):
            x = F.unsqueeze(x, d)
    return x


def _sum(g: Any, v: Any) -> Any:
    shape = tuple(v["input_shape"])
    if v["dim"] is not None:
        g = _opened(g, v["dim"], v["keepdim"], len(shape))
    return F.expand(g, shape)


def _mean(g: Any, v: Any) -> Any:
    shape = v["input_shape"]
    return _sum(g, v) / math.prod(shape[d] for d in _dims(v["dim"], len(shape)))


def _var(g: Any, v: Any) -> Any:
    x, dim = v["input"], v["dim"]
    every = dim is None or dim == () or not x.ndim
    rest = math.prod(x.shape[d] for d in _dims(dim, x.ndim)) - v["correction"]
    if not every:
        g = _opened(g, dim, v["keepdim"], x.ndim)
    gap = x - (F.mean(x) if every else F.mean(x, (dim,) if type(dim) is int else dim, True))
    return g * (2.0 / rest if rest else math.inf) * gap


def _std(g: Any, v: Any) -> Any:
    y = v["result"]
    slope = g / (y * 2)
    return _var(slope.masked_fill_(y == 0, 0), v)


def _of_extreme(g: Any, v: Any) -> Any:
    x, y = v["input"], v["result"]
    unknown = y.isnan()
    both = F.logical_and(unknown, x.isnan())
    mask = (x == y).logical_or_(both)
    return mask * (g / mask.sum())


def _put_back(g: Any, v: Any) -> Any:
    shape, index = tuple(v["input_shape"]), v["indices"]
    if not v.get("keepdim", True) and shape:
        g, index = F.unsqueeze(g, v["dim"]), F.unsqueeze(index, v["dim"])
    return F.scatter(g.new_zeros(shape), v["dim"], index, g)


def _over_extremes(g: Any, v: Any) -> Any:
    x, y, dim, keepdim = v["input"], v["result"], v["dim"], v["keepdim"]
    dims = _dims(dim, x.ndim)
    if keepdim or not x.ndim:
        mask = x == y
    else:
        shape = tuple(1 if d in dims else n for d, n in enumerate(x.shape))
        mask = x == F.view(y, shape)
        g = F.view(g, shape)
    return (g / mask.sum(tuple(dims), True)) * mask


def _norm(g: Any, v: Any, needs: Any) -> Any:
    x, y, dim = v["input"], v["result"], v["dim"]
    p = v["ord"]
    if (p not in (1, 2) and (not isinstance(p, (int, float)) or p <= 2 or p == math.inf)) or x.is_complex():
        return None
    if dim is not None:
        g, y = _opened(g, dim, v["keepdim"], x.ndim), _opened(y, dim, v["keepdim"], x.ndim)
    if p == 1:
        return [x.sgn() * g]
    if p > 2:
        scaled = x * x.abs().pow_(p - 2)
        return [(scaled / y.pow(p - 1)).masked_fill_(y == 0, 0) * g]
    return [(x / y).masked_fill_(y == 0, 0) * g]


def _logsumexp(g: Any, v: Any) -> Any:
    x, y, dim, keepdim = v["input"], v["result"], v["dim"], v["keepdim"]
    return _opened(g, dim, keepdim, x.ndim) * (x - _opened(y, dim, keepdim, x.ndim)).exp()


# -- places ---------------------------------------------------------------------------------------------------------------


def _nothing(shape: Any, like: Any) -> Any:
    return zeros(shape, dtype=like.dtype)


def _pieces_of(join: Callable[..., Any]) -> Any:
    def rule(g: Any, v: Any, needs: Any) -> Any:
        if type(g) is not list:
            return None
        some = next(x for x in g if x is not None)
        return [join([_nothing(s, some) if x is None else x for x, s in zip(g, v["shapes"])], v["dim"])]

    return rule


# -- products -------------------------------------------------------------------------------------------------------------


def _by_columns(known: Any) -> bool:
    """Whether the matrix of this ``(shape, strides)`` lies column by column."""
    return type(known) is tuple and len(known[1]) == 2 and known[1][0] == 1 and known[1][1] == known[0][0]


def _product(first: str, second: str) -> dict[str, Any]:
    def of_first(g: Any, v: Any) -> Any:
        b = v[second]
        found = F.t(F.mm(b, F.t(g))) if _by_columns(v["seen"].get(first)) else F.mm(g, F.t(b))
        return _times(found, v.get("alpha", 1))

    def of_second(g: Any, v: Any) -> Any:
        a = v[first]
        found = F.t(F.mm(F.t(g), a)) if _by_columns(v["seen"].get(second)) else F.mm(F.t(a), g)
        return _times(found, v.get("alpha", 1))

    return {first: of_first, second: of_second}


def _matrix_vector(matrix: str) -> dict[str, Any]:
    return {
        matrix: lambda g, v: _times(F.view(g, (-1, 1)) * v["vec"], v.get("alpha", 1)),
        "vec": lambda g, v: _times(F.mv(F.t(v[matrix]), g), v.get("alpha", 1)),
    }


def _scaled(g: Any, v: Any) -> Any:
    return _times(g, v["beta"])


def _convolution(g: Any, v: Any, needs: Any) -> Any:
    from .aten import convolution_backward

    if "bias" not in v["seen"] or any(t.is_complex() for t in (g, v["input"], v["weight"])):
        return None
    n = v["weight"].ndim - 2
    sizes = None if v["seen"]["bias"] is None else [g.shape[1]]
    how = [list(v[k]) * (n if len(v[k]) == 1 else 1) for k in ("stride", "padding", "dilation")]
    args = (g, v["input"], v["weight"], sizes, *how, False, [0] * n, v["groups"], [bool(b) for b in needs])
    return list(ask(aten.convolution_backward.default, convolution_backward, False, args, {}, modes()))


RULES: dict[str, Any] = {
    **{n: {"input": lambda g, v: zeros_like(g)} for n in ("floor", "ceil", "round", "trunc", "sign")},
    "reciprocal": {"input": _reciprocal},
    "div": {"input": lambda g, v: g / v["other"], "other": _of_quotient},
    "exp2": {"input": lambda g, v: g * v["result"] * math.log(2)},
    "tan": {"input": lambda g, v: g * (v["result"].pow(2) + 1)},
    "asin": {"input": lambda g, v: g * (-v["input"] * v["input"] + 1).rsqrt()},
    "acos": {"input": lambda g, v: g * -((-v["input"] * v["input"] + 1).rsqrt())},
    "asinh": {"input": lambda g, v: g * (v["input"].pow(2) + 1).rsqrt()},
    "pow": _pow, "maximum": _maximum(True), "minimum": _maximum(False), "atan2": _atan2, "addcdiv": _addcdiv,
    **{n: {"input": _clamp} for n in ("clamp", "clamp_min", "clamp_max")},
    "hypot": {"input": _hypot("input"), "other": _hypot("other")},
    "addcmul": {"input": lambda g, v: g, "tensor1": _times_other("tensor2"), "tensor2": _times_other("tensor1")},
    "nan_to_num": {"input": _nan_to_num}, "where": _where,
    "masked_fill_tensor": {"input": lambda g, v: F.masked_fill(g, v["mask"], 0), "value": lambda g, v: F.where(v["mask"], g, _zero(g)).sum()},
    "sum_dim": {"input": _sum}, "mean_dim": {"input": _mean}, "var": {"input": _var}, "std": {"input": _std},
    **{n: {"input": _of_extreme} for n in ("max_all", "min_all", "median_all", "nanmedian_all")},
    **{n: {"input": _put_back} for n in ("max", "min", "median", "nanmedian", "kthvalue", "mode", "topk", "sort", "sort_stable")},
    "amax": {"input": _over_extremes}, "amin": {"input": _over_extremes},
    "linalg_vector_norm": _norm, "logsumexp": {"input": _logsumexp},
    "gather": {"input": lambda g, v: F.scatter_add(g.new_zeros(tuple(v["input_shape"])), v["dim"], v["index"], g)},
    "index_select": {"input": lambda g, v: F.index_add(g.new_zeros(tuple(v["input_shape"])), v["dim"], v["index"], g)},
    "index": {"input": lambda g, v: F.index_put(g.new_zeros(tuple(v["input_shape"])), v["indices"], g, True)},
    "atanh": {"input": _atanh},
    "unbind": _pieces_of(lambda row, dim: F.stack(row, dim)),
    **{n: {"input": lambda g, v: zeros_like(g)} for n in ("zero", "fill", "copy")},
    **{n: {"input": lambda g, v: F.scatter_add(_nothing(tuple(v["input_shape"]), g), v["dim"], v["indices"], g)} for n in ("cummax", "cummin")},
    "nansum": {"input": _nansum}, "lerp_tensor": {"input": _lerp},
    "index_add": {"input": lambda g, v: g, "source": lambda g, v: _times(_taken(g, v), v["alpha"])},
    "index_copy": {"input": lambda g, v: F.index_fill(g, v["dim"], v["index"], 0), "source": lambda g, v: _taken(g, v)},
    "squeeze": {"input": _unsqueezed},
    "erf": {"input": lambda g, v: (2 / math.sqrt(math.pi)) * F.exp(F.neg(v["input"].pow(2))) * g},
    "erfc": {"input": lambda g, v: (-2 / math.sqrt(math.pi)) * F.exp(F.neg(v["input"].pow(2))) * g},
    "split": _pieces_of(lambda row, dim: F.cat(row, dim)), "split_with_sizes": _pieces_of(lambda row, dim: F.cat(row, dim)),
    "mm": _product("input", "mat2"), "addmm": {"input": _scaled, **_product("mat1", "mat2")},
    "mv": _matrix_vector("input"), "addmv": {"input": _scaled, **_matrix_vector("mat")},
    "convolution_forward": _convolution,
}  # fmt: skip
