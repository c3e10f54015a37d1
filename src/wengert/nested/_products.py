"""Matrix products of jagged tensors, linear layers, and attention within each part."""

from __future__ import annotations

from typing import Any

from ..functions.places import PLACES
from ..tensor.functions import function
from ._base import Nest, as_single_node, nest, numbers, numbers_plan
from ._jagged import entry, on_numbers, padded, pieces, unpadded
from ._plans import Jagged, Rows, offsets_from


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
