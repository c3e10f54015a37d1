"""Sums, products and layers of nested tensors of the layout ``torch.strided``."""

from __future__ import annotations

from typing import Any

from ..functions.places import PLACES
from ..tensor import Tensor
from ..tensor.functions import function
from ._base import Nest, as_single_node, dimension, methods, nest, numbers, numbers_plan
from ._strided import _NO_SIZES, TABLE, StridedNestedTensor, entry, part_by_part


@entry("sum", "sum_dim", "sum_of_all")
def total(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over the last dimension."""
    if dim is None:
        raise StridedNestedTensor._refused("sum")
    dims = list(dim) if isinstance(dim, (tuple, list)) else [dim]
    if len(dims) != 1:
        raise RuntimeError("NestedTensor only allows reduction of a single dimension for now.")
    d = dimension(input, dims[0])
    if d != input.dim() - 1:
        raise RuntimeError(f"NestedTensor can only be reduced across the last dimension for now got dimension {d} "
            "instead.")
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    return part_by_part((input,), lambda p: p.sum(-1, keepdim=True, dtype=dtype), "SumBackwardAutogradNestedTensor1")


for _name in ("mean", "var", "std", "amax", "amin", "max", "min", "prod", "any", "argmax", "argmin", "logsumexp",
        "cumsum", "norm"):

    def _none(input: Any, *args: Any, _name: str = _name, **kwargs: Any) -> Any:
        raise StridedNestedTensor._refused(_name)

    entry(_name, f"{_name}_dim", f"{_name}_all", f"{_name}_of_all")(_none)


@entry("all")
def all_(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    raise StridedNestedTensor._refused("all")


@entry("softmax")
def softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    d = dimension(input, -1 if dim is None else dim)
    if d == 0:
        raise RuntimeError("Cannot apply softmax across nested dimension 0")
    return part_by_part((input,), lambda p: PLACES["functional"]["softmax"](p, d - 1, dtype=dtype), "SoftmaxBackward0")


@entry("log_softmax")
def log_softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    raise StridedNestedTensor._refused("_log_softmax")


@entry("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """A linear layer on the last dimension, which all parts share."""
    if not input.is_contiguous():
        raise RuntimeError("for now linear only supports contiguous nested tensor")
    if input.dim() != 3 or weight.dim() != 2:
        raise RuntimeError("Linear requires nested_tensor.dim == 3 and weight_matrix.dim == 2. Nested tensor dim: "
            f"{input.dim()}. Weight tensor dim: {weight.dim()}")
    last = input.size(-1)
    if weight.shape[1] != last:
        raise RuntimeError("Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim' to "
            f"equal 'weight.size(1), but got: last_dim = {last}, and weight.size(1) = {weight.shape[1]}")
    plan = numbers_plan(input)

    def make() -> Any:
        found = function("linear")(numbers(input).view(-1, last), weight, bias)
        return nest(found.reshape(-1), type(plan)([(*row[:-1], weight.shape[0]) for row in plan.sizes]))

    return as_single_node([t for t in (input, weight, bias) if t is not None], make, "LinearBackward0")


@entry("matmul", "mm", "__matmul__")
def matmul(input: Any, other: Any) -> Any:
    """The products of the parts of two nested tensors."""
    for a, b, which in ((input, other, "nested self and non-nested"), (other, input, "non-nested self and nested")):
        if isinstance(a, Nest) and not isinstance(b, Nest):
            raise RuntimeError(f"Expected both to be nested, but got a {which} other")
    return _products(input, other, "MatmulBackward0")


def _products(input: Any, other: Any, name: str) -> Any:
    if input.dim() < 3 or other.dim() < 3:
        raise RuntimeError("matmul: For nested tensors, only inputs with >= 3 dims are currently supported. Got: "
            f"{input.dim()} and {other.dim()}")
    return part_by_part((input, other), lambda a, b: function("matmul")(a, b), name)


@entry("bmm")
def bmm(input: Any, mat2: Any) -> Any:
    """The product of each part with a matrix of its own."""
    counts = [len(numbers_plan(t).sizes) if isinstance(t, Nest) else t.shape[0] for t in (input, mat2)]
    if input.dim() != 3 or mat2.dim() != 3:
        which, t = ("batch1", input) if input.dim() != 3 else ("batch2", mat2)
        raise RuntimeError(f"{which} must be a 3D tensor, but got {t.dim()}D")
    if counts[0] != counts[1]:
        raise RuntimeError(f"Expected size for the 1st dimension of batch2 tensor to be: {counts[0]} but got: "
            f"{counts[1]}.")
    return _products(input, mat2, "BmmBackward0")


@entry("layer_norm")
def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5,
        *_: Any) -> Any:
    """Over the last dimensions, which all parts share."""
    if weight is None or bias is None:
        raise ValueError("NestedTensor layer_norm requires weight and bias")
    norm = PLACES["functional"]["layer_norm"]
    return part_by_part((TABLE["contiguous"](input),), lambda p: norm(p, normalized_shape, weight, bias, eps),
        "NativeLayerNormBackward0", (weight, bias))


@entry("rms_norm", "mse_loss", "cross_entropy", "broadcast_tensors", "cat", "expand", "flatten", "unflatten", "sort",
    "topk", "repeat")
def _needs_sizes(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(_NO_SIZES)


@entry("dropout")
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    run = PLACES["functional"]["dropout"]
    if inplace:
        run(numbers(input), p, training, True)
        return input
    return as_single_node(
        (input,),
        lambda: nest(run(numbers(input), p, training) if training and p else numbers(input).clone(),
            numbers_plan(input)), "NativeDropoutBackward0",
    )


@entry()
def embedding(input: Any, weight: Any, *args: Any, **kwargs: Any) -> Any:
    """Rows of ``weight`` for the numbers of a nested tensor of indices."""
    if isinstance(weight, Nest):
        input, weight = weight, input
    plan = numbers_plan(TABLE["contiguous"](input))

    def make() -> Any:
        found = PLACES["functional"]["embedding"](numbers(TABLE["contiguous"](input)), weight, *args, **kwargs)
        return nest(found.reshape(-1), type(plan)([(*row, found.shape[-1]) for row in plan.sizes]))

    return as_single_node([t for t in (input, weight) if isinstance(t, Tensor)], make, "EmbeddingBackward0")


@entry("equal", "allclose")
def _no_comparison(input: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
    raise StridedNestedTensor._refused("equal")


@entry("scaled_dot_product_attention")
def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Any:
    """Attention within each part: of ``(…, length, width)`` each, of other lengths and the same in all three."""
    row = (query, key, value)
    if attn_mask is not None:
        raise RuntimeError("Scaled_dot_product_attention: Nested tensors for query / key are not supported when an "
            "explicit attn_mask is set")
    if not all(isinstance(t, Nest) and t.is_contiguous() for t in row):
        raise RuntimeError("scaled_dot_product_attention: If inputs are nested tensors they must be contiguous")
    attend = PLACES["functional"]["scaled_dot_product_attention"]
    return part_by_part(row,
        lambda q, k, v: attend(q, k, v, None, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa),
        "MatmulBackward0")


StridedNestedTensor.table = TABLE  # which is complete now
methods(StridedNestedTensor)
