"""Reductions, normalisations, matrix products and attention of jagged tensors."""

from __future__ import annotations

from typing import Any

from ..arrays import dtypes as dt
from ..functions.places import PLACES
from ..functions.settings import iinfo
from ..tensor import Tensor
from ..tensor.functions import function
from ..tensor.tensor import wrap
from ._base import Nest, as_single_node, dimension, each, nest, numbers, numbers_plan
from ._jagged import entry, on_numbers, padded, pieces, unpadded
from ._plans import Jagged, Rows, offsets_from

# -- reductions: over all numbers, inner dimensions, each part, or all parts together ----------------------------------

_LEAST = {"amax", "max", "argmax"}
_MOST = {"amin", "min", "argmin"}
# what fills parts up to the longest, so that it does not count
_NEUTRAL: dict[str, Any] = {"sum": 0, "mean": 0, "prod": 1, "all": True, "any": False, "logsumexp": float("-inf"),
    "var": 0, "std": 0}
_WHOLE = {"sum": "SumBackwardAutogradNestedTensor0", "mean": "MeanBackwardAutogradNestedTensor0"}
_PART = {"sum": "SumBackwardAutogradNestedTensor1", "mean": "MeanBackward1"}


def _neutral(name: str, kind: Any) -> Any:
    if name not in _LEAST | _MOST:
        return _NEUTRAL[name]
    if kind.kind == "b":
        return name in _MOST
    limits = dt.of(kind)
    sign = -1 if name in _LEAST else 1
    return sign * float("inf") if kind.kind in "fV" else (iinfo(limits).min if sign < 0 else iinfo(limits).max)


def _reduce(name: str) -> Any:
    def run(input: Any, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
        if isinstance(dim, Tensor) and name in ("max", "min"):
            return function({"max": "maximum", "min": "minimum"}[name])(input, dim)
        if isinstance(dim, bool) and not keepdim:  # var(unbiased)
            kwargs["unbiased"], dim = dim, None
        kwargs.pop("out", None)
        axis = kwargs.pop("axis", None)
        dim = axis if dim is None else dim
        if dim is None or (isinstance(dim, (tuple, list)) and not dim):
            more = {"dim": ()} if name in ("amax", "amin") else {}
            return as_single_node((input,), lambda: getattr(numbers(input), name)(**more, **kwargs), _WHOLE.get(name))
        several = isinstance(dim, (tuple, list))
        dims = sorted({dimension(input, d) for d in (dim if several else (dim,))})
        return as_single_node((input,), lambda: _over(input, name, dims, several, keepdim, kwargs), _PART.get(name))

    run.__name__ = name
    return run


def _over(t: Any, name: str, dims: list[int], several: bool, keepdim: bool, more: dict[str, Any]) -> Any:
    plan, packed = numbers_plan(t), numbers(t)
    r = plan.ragged
    rest = [d - 1 for d in dims if d not in (0, r)]
    if 0 in dims and r not in dims:
        raise RuntimeError(f"{name}(): reducing along the batch dimension but not the ragged dimension is not "
            "supported for nested tensors")
    if r in dims and 0 not in dims and rest:
        if name == "mean":
            raise AssertionError("Cannot reduce on both ragged and non-batch dimensions without also reducing on batch")
        raise RuntimeError(f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested "
            "tensors")
    if r not in dims:
        run = getattr(packed, name)
        found = run(rest if several else rest[0], keepdim=keepdim, **more)
        after = plan.at(r if keepdim else r - sum(d < r for d in dims))
        return each(lambda v: nest(v, after), found)
    if plan.rows.lengths is not None:
        raise RuntimeError(f"{name}(): reducing across the ragged dimension is not supported for non-contiguous nested "
            "tensors with holes")
    if 0 in dims:
        found = getattr(packed, name)(sorted([*rest, r - 1]), keepdim=keepdim, **more)
        return found.unsqueeze(0) if keepdim else found
    return _over_parts(t, packed, name, keepdim, more)


def _over_parts(t: Any, packed: Tensor, name: str, keepdim: bool, more: dict[str, Any]) -> Any:
    """Over the ragged dimension: a dense result, a row for each part."""
    plan = numbers_plan(t)
    r, counts = plan.ragged, plan.rows.counts
    if name in ("var", "std"):
        rows = [getattr(p, name)(r - 1, keepdim=keepdim, **more) for p in pieces(t)]
        return function("stack")(rows, 0)
    full = padded(packed, plan, _neutral(name, packed._wg_data.dtype))
    if name == "mean":
        total = full.sum(r, keepdim=keepdim, **more)
        shape = [len(counts)] + [1] * (total.dim() - 1)
        return total / wrap(counts.astype(total._wg_data.dtype)).view(shape)
    return getattr(full, name)(r, keepdim=keepdim, **more)


for _name in ("sum", "mean", "prod", "all", "any", "amax", "amin", "max", "min", "argmax", "argmin", "logsumexp", "var",
        "std"):
    entry(_name, f"{_name}_dim", f"{_name}_all", f"{_name}_of_all")(_reduce(_name))


def _softmax(name: str) -> Any:
    def run(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
        if isinstance(_stacklevel, dt.dtype):
            dtype = _stacklevel
        d, plan = dimension(input, 1 if dim is None else dim), numbers_plan(input)
        softmax = PLACES["functional"][name]
        if d == 0:
            raise RuntimeError(f"{name}(): not supported when reducing across the batch dimension for NestedTensor")
        if d != plan.ragged:
            return on_numbers(input, lambda v: softmax(v, d - 1, dtype=dtype))
        if plan.rows.lengths is not None:
            raise RuntimeError(f"{name}(): not supported where lengths is not None if reducing across the ragged "
                "dimension for NestedTensor")
        if plan.ragged > 1 or name != "softmax":
            where = " for ragged_idx > 1" if plan.ragged > 1 else ""
            raise RuntimeError(f"{name}(): not supported when reducing along the ragged dimension{where} for "
                "NestedTensor")

        def make() -> Any:
            return unpadded(softmax(padded(numbers(input), plan, float("-inf")), d, dtype=dtype), plan,
                numbers(input).shape[0])

        return as_single_node((input,), make, "SoftmaxBackward0")

    run.__name__ = name
    return run


for _name in ("softmax", "log_softmax"):
    entry(_name)(_softmax(_name))


@entry("layer_norm")
def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5,
        *_: Any) -> Any:
    """Over inner dimensions, or (without weight and bias) over the ragged one and those behind it, in each part."""
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    norm, plan = PLACES["functional"]["layer_norm"], numbers_plan(input)
    if not any(n == plan.rows.symbol for n in shape):
        return on_numbers(input, lambda v: norm(v, shape, weight, bias, eps), "NativeLayerNormBackward0",
            others=(weight, bias))
    if plan.rows.lengths is not None:
        raise RuntimeError("layer_norm(): normalizing over ragged dim not supported for nested tensors with lengths")

    def make() -> Any:
        rows = [norm(p, list(p.shape[-len(shape) :]), weight, bias, eps) for p in pieces(input)]
        return nest(function("cat")(rows, plan.ragged - 1), plan)

    return as_single_node((input,), make, "NativeLayerNormBackward0")


@entry("rms_norm")
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    return on_numbers(input, lambda v: PLACES["functional"]["rms_norm"](v, shape, weight, eps), "MulBackward0",
        others=(weight,))


def _norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if dim is None:
        return as_single_node((input,), lambda: numbers(input).norm(p, dtype=dtype))
    raise NotImplementedError("aten.norm.ScalarOpt_dim: along dimensions this is not there for jagged tensors")


entry("norm")(_norm)


# -- products ----------------------------------------------------------------------------------------------------------


@entry("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """A linear layer, on the last dimension."""
    plan = numbers_plan(input)
    if plan.rows.lengths is not None or plan.ragged == input.dim() - 1:
        raise ValueError("NestedTensor linear_default(input: jt, weight: t, bias: t?): expected input to be a "
            "contiguous jagged layout NestedTensor")
    return on_numbers(input, lambda v: function("linear")(v, weight, bias), "LinearBackward0", others=(weight, bias))


def _shape(t: Any) -> str:
    return str(t.shape) if not isinstance(t, Nest) else f"torch.Size([{', '.join(map(str, t._wg_data.shape))}])"


def _matmul(input: Any, other: Any, name: str = "matmul") -> Any:
    refused = RuntimeError(
        f"matmul(): not supported between inputs of shapes ({', '.join(map(str, input.shape))}) and {_shape(other)}"
    )
    if isinstance(input, Nest) and not isinstance(other, Nest):
        plan = numbers_plan(input)
        last = input.dim() - 1
        if other.dim() <= 2 and plan.ragged != last:
            return on_numbers(input, lambda v: function("matmul")(v, other),
                "MatmulBackward0" if name == "matmul" else None, others=(other,))
        if other.dim() == input.dim() and plan.ragged == last - 1 and plan.rows.lengths is None:
            return as_single_node((input, other),
                lambda: unpadded(function("matmul")(padded(numbers(input), plan, 0), other), plan), _NODES[name])
        raise refused
    if not isinstance(input, Nest):
        plan = numbers_plan(other)
        if input.dim() in (2, other.dim()) and plan.ragged == other.dim() - 1 and plan.rows.lengths is None:
            return as_single_node((input, other),
                lambda: unpadded(function("matmul")(input, padded(numbers(other), plan, 0)), plan), _NODES[name])
        raise refused
    a, b = numbers_plan(input), numbers_plan(other)
    if input.dim() != other.dim() or a.rows.symbol != b.rows.symbol or a.rows.lengths is not None:
        raise refused
    last = input.dim() - 1
    if a.ragged == last and b.ragged == last - 1:  # summed over the ragged dimension: the result is dense

        def dense() -> Any:
            return function("matmul")(padded(numbers(input), a, 0), padded(numbers(other), b, 0))

        return as_single_node((input, other), dense, _NODES[name])
    if a.ragged == b.ragged < last - 1:  # the matrices themselves are dense
        return as_single_node((input, other),
            lambda: nest(function("matmul")(numbers(input), numbers(other)), a), _NODES[name])
    raise refused


_NODES = {"matmul": "MatmulBackward0", "bmm": "BmmBackward0"}


@entry("matmul", "__matmul__", "mm", "mv")
def matmul(input: Any, other: Any) -> Any:
    """A product of matrices, or of the rows of all parts with one."""
    return _matmul(input, other)


@entry("bmm")
def bmm(input: Any, mat2: Any) -> Any:
    """The product of each part with a matrix of its own."""
    if input.dim() != 3 or mat2.dim() != 3:
        raise ValueError("bmm(): input must be 3D and mat2 must be 3D")
    if len(input) != len(mat2):
        raise RuntimeError(f"The size of tensor a ({len(input)}) must match the size of tensor b ({len(mat2)}) at "
            "non-singleton dimension 0")
    return _matmul(input, mat2, "bmm")


@entry("baddbmm")
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    return bmm(batch1, batch2) * alpha + input * beta


@entry("einsum")
def einsum(*args: Any) -> Any:
    raise RuntimeError("NYI")


# -- attention ---------------------------------------------------------------------------------------------------------


@entry("scaled_dot_product_attention")
def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Any:
    """Attention within each part: ``query`` ``(parts, heads, j, width)``, ``key`` and ``value`` the same, of the same
    or other offsets.

    No part sees another, so there is nothing to mask.
    """
    row = (query, key, value)
    if not all(isinstance(t, Nest) for t in row):
        raise ValueError("Expected query, key, and value to be nested tensors, but got query.is_nested: "
            f"{query.is_nested}, key.is_nested: {key.is_nested}, and value.is_nested: {value.is_nested} instead.")
    if any(t.dim() < 3 for t in row):
        raise ValueError("Expected query, key, and value to all be  at least 3 dimensional, but got Query dim: "
            f"{query.dim()}, Key dim: {key.dim()} and Value dim: {value.dim()} instead.")
    if any(t.dtype != query.dtype for t in row):
        raise ValueError(f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype}, "
            f"key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead.")
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!")
    if any(t.dim() != 4 or numbers_plan(t).ragged != 2 for t in row):
        raise RuntimeError("No viable backend for scaled_dot_product_attention was found.")
    attend = PLACES["functional"]["scaled_dot_product_attention"]
    if numbers_plan(key).rows.symbol != numbers_plan(value).rows.symbol:
        raise RuntimeError("No viable backend for scaled_dot_product_attention was found.")

    def make() -> Any:
        parts = [
            attend(q, k, v, None, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
            for q, k, v in zip(pieces(query), pieces(key), pieces(value))
        ]
        rows = numbers_plan(query).rows
        if rows.lengths is not None:
            rows = Rows(offsets_from(rows.counts), None, rows.least, rows.most)
        # laid out as PyTorch's: the ragged dimension first in memory
        packed = function("cat")([p.transpose(0, 1) for p in parts], 0)
        return nest(packed.transpose(0, 1), Jagged(rows, 2))

    return as_single_node(row, make, "TransposeBackward0")
