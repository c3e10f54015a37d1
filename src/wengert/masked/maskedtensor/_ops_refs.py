"""Fills the two tables in which MaskedTensor looks things up.

Functions of the public surface that need gradients of their own stand in the one, operators below autograd, under
PyTorch's names, in the other. Both are filled from the modules of the families; what is left over has its rules here.
"""

from __future__ import annotations

from typing import Any

from ...autograd import Function
from ...dispatch.torch_dispatch import aten
from ...functions.places import PLACES
from ...tensor import Tensor
from ...tensor.types import sparse_coo, strided
from .binary import NATIVE_BINARY_MAP, NATIVE_INPLACE_BINARY_MAP
from .core import FUNCTIONS, OPERATORS, MaskedTensor, _get_data, _masks_match, _maybe_get_mask, is_masked_tensor
from .passthrough import PASSTHROUGH_FNS, _apply_pass_through_fn
from .reductions import NATIVE_REDUCE_MAP, TENSOR_REDUCE_MAP, TORCH_REDUCE_MAP
from .unary import NATIVE_INPLACE_UNARY_MAP, NATIVE_UNARY_MAP

_T = PLACES["torch"]


def _nowhere(t: Any) -> Any:
    """The same data, none of it there."""
    return MaskedTensor(_get_data(t), _T["zeros_like"](_maybe_get_mask(t)))


# -- with gradients of their own ---------------------------------------------------------------------------------------


class _MaskedContiguous(Function):
    @staticmethod
    def forward(ctx: Any, input: Any) -> Any:  # type: ignore[override]
        data, mask = _get_data(input), _maybe_get_mask(input)
        return MaskedTensor(data.contiguous(), mask.contiguous())

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:  # type: ignore[override]
        return grad_output


class _MaskedToDense(Function):
    @staticmethod
    def forward(ctx: Any, input: Any) -> Any:  # type: ignore[override]
        ctx.layout = input.layout
        return MaskedTensor(_get_data(input).to_dense(), _maybe_get_mask(input).to_dense())

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:  # type: ignore[override]
        return grad_output if ctx.layout is strided else _sparse(grad_output, ctx.layout)


class _MaskedToSparse(Function):
    @staticmethod
    def forward(ctx: Any, input: Any, layout: Any = sparse_coo) -> Any:  # type: ignore[override]
        return _sparse(input, layout)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:  # type: ignore[override]
        return _dense(grad_output), None


class _MaskedToSparseCsr(_MaskedToSparse):
    pass


class _MaskedWhere(Function):
    @staticmethod
    def forward(ctx: Any, cond: Any, self: Any, other: Any) -> Any:  # type: ignore[override]
        ctx.mark_non_differentiable(cond)
        ctx.save_for_backward(cond)
        return _where(cond, self, other)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:  # type: ignore[override]
        (cond,) = ctx.saved_tensors
        nowhere = _nowhere(grad_output)
        return None, _where(cond, grad_output, nowhere), _where(cond, nowhere, grad_output)


def _sparse(t: Any, layout: Any) -> Any:
    """What is there of a MaskedTensor, in a sparse layout."""
    if t.layout is layout:
        return t
    data, mask = _get_data(_dense(t)), _maybe_get_mask(_dense(t))
    if layout is sparse_coo:
        places = mask.to_sparse()
        return MaskedTensor(data.sparse_mask(places), places)
    if data.dim() != 2:
        raise ValueError(f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {data.size()}")
    places = mask.to_sparse_csr()
    return MaskedTensor(data.sparse_mask(places), places)


def _dense(t: Any) -> Any:
    if t.layout is strided:
        return t
    return MaskedTensor(_get_data(t).to_dense(), _maybe_get_mask(t).to_dense())


def _function_where(cond: Any, input: Any = None, other: Any = None) -> Any:
    if other is None:
        raise ValueError("__torch_function__, torch.where: expected condition, input and other")
    return _MaskedWhere.apply(cond, input, other)


def _method_where(self: Any, condition: Any, other: Any) -> Any:
    return _MaskedWhere.apply(condition, self, other)


def _function_contiguous(input: Any, **kwargs: Any) -> Any:
    return input if input.is_contiguous() else _MaskedContiguous.apply(input)


def _function_to_dense(input: Any, **kwargs: Any) -> Any:
    return _MaskedToDense.apply(input)


def _function_to_sparse(input: Any, *args: Any, **kwargs: Any) -> Any:
    return _MaskedToSparse.apply(input)


def _function_to_sparse_csr(input: Any, *args: Any, **kwargs: Any) -> Any:
    from ...tensor.types import sparse_csr

    return _MaskedToSparseCsr.apply(input, sparse_csr)


FUNCTIONS.update({
    **TORCH_REDUCE_MAP, **TENSOR_REDUCE_MAP, Tensor.where: _method_where, _T["where"]: _function_where,
    Tensor.contiguous: _function_contiguous, Tensor.to_dense: _function_to_dense, Tensor.to_sparse: _function_to_sparse,
    Tensor.to_sparse_csr: _function_to_sparse_csr,
})


# -- below autograd ----------------------------------------------------------------------------------------------------


def _on_data(packet: Any) -> Any:
    """The operator on the data, with the mask of the first argument."""

    def apply(*args: Any, **kwargs: Any) -> Any:
        return MaskedTensor(packet(*(_get_data(a) for a in args), **kwargs), _maybe_get_mask(args[0]))

    return apply


def _where(cond: Any, self: Any, other: Any) -> Any:
    """Each element, and whether it is there, from the one or the other; it is not there where the condition is not."""
    chosen, known = _get_data(cond), _maybe_get_mask(cond)
    if known is not None:
        answer = _where(chosen, self, other)
        return MaskedTensor(_get_data(answer), _maybe_get_mask(answer) & known)
    everywhere = _T["ones_like"](cond, dtype=_T_BOOL)
    masks = [_maybe_get_mask(t) if is_masked_tensor(t) else everywhere for t in (self, other)]
    return MaskedTensor(_T["where"](cond, _get_data(self), _get_data(other)), _T["where"](cond, *masks))


def _softmax(input: Any, dim: int, half_to_float: bool = False) -> Any:
    """What is not there has no share."""
    data, mask = _get_data(input), _maybe_get_mask(input)
    return MaskedTensor(_T["softmax"](data.masked_fill(~mask, float("-inf")), dim), mask)


def _softmax_backward_data(grad: Any, output: Any, dim: int, *dtype: Any) -> Any:
    if not (is_masked_tensor(grad) and is_masked_tensor(output)):
        raise ValueError("__torch_dispatch__, aten._softmax_backward_data: grad and output must both be MaskedTensors")
    if not _masks_match(grad, output):
        raise ValueError("__torch_dispatch__, aten._softmax_backward_data: expected the masks of grad and output to "
            "match")
    mask = _maybe_get_mask(grad)
    g, y = (_get_data(t).masked_fill(~mask, 0) for t in (grad, output))
    return MaskedTensor(y * (g - (g * y).sum(dim, True)), mask)


def _local_scalar_dense(input: Any) -> Any:
    if not _maybe_get_mask(input):
        raise ValueError("__torch_dispatch__, aten._local_scalar_dense: expected a mask tensor")
    return _get_data(input).item()


def _copy_(self: Any, source: Any, *rest: Any) -> Any:
    if not _masks_match(self, source):
        raise ValueError("args[0] mask and args[1] mask must match but do not")
    _get_data(self).copy_(_get_data(source))
    return self


def _new_empty_strided(self: Any, size: Any, stride: Any, **kwargs: Any) -> Any:
    data, mask = _get_data(self), _maybe_get_mask(self)
    if tuple(size) != tuple(data.size()):
        raise ValueError("__torch_dispatch__, aten.new_empty_strided: expected the size of the tensor")
    return MaskedTensor(data.new_empty_strided(tuple(size), tuple(stride), **kwargs), mask)


def _values(input: Any) -> Any:
    return MaskedTensor(_get_data(input).values(), _maybe_get_mask(input).values())


def _indices(input: Any) -> Any:
    places = _get_data(input).indices()
    return MaskedTensor(places, _T["ones_like"](places, dtype=_T_BOOL))


def _to_dense(input: Any, *args: Any, **kwargs: Any) -> Any:
    return _dense(input)


def _to_sparse(input: Any, *args: Any, **kwargs: Any) -> Any:
    return _sparse(input, sparse_coo)


def _to_sparse_csr(input: Any, *args: Any, **kwargs: Any) -> Any:
    from ...tensor.types import sparse_csr

    return _sparse(input, sparse_csr)


def _contiguous(input: Any, *args: Any, **kwargs: Any) -> Any:
    if input.is_sparse:
        raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
    return _MaskedContiguous.apply(input)


def _of_data(ask: Any) -> Any:
    """A question about the data alone."""
    return lambda input, *args, **kwargs: ask(_get_data(input), *(_get_data(a) for a in args), **kwargs)


_T_BOOL = _T["zeros_like"](_T["tensor"](True)).dtype


def _passing(packet: Any) -> Any:
    return lambda *args, **kwargs: _apply_pass_through_fn(packet, *args, **kwargs)


OPERATORS.update({
    **NATIVE_UNARY_MAP, **NATIVE_INPLACE_UNARY_MAP, **NATIVE_BINARY_MAP, **NATIVE_INPLACE_BINARY_MAP,
    **NATIVE_REDUCE_MAP, **{f: _passing(f) for f in (*PASSTHROUGH_FNS, aten.basic_scatter)},
    **{f: _on_data(f) for f in (aten.detach, aten.clone, aten._to_copy, aten.ones_like)},
    aten.where: _where, aten._softmax: _softmax, aten._softmax_backward_data: _softmax_backward_data,
    aten.copy_: _copy_, aten._local_scalar_dense: _local_scalar_dense, aten.new_empty_strided: _new_empty_strided,
    aten.contiguous: _contiguous, aten._values: _values, aten._indices: _indices, aten._to_dense: _to_dense,
    aten._to_sparse: _to_sparse, aten._to_sparse_csr: _to_sparse_csr, aten.stride: _of_data(Tensor.stride),
    aten.is_contiguous: _of_data(Tensor.is_contiguous), aten.is_same_size: _of_data(Tensor.is_same_size),
    aten._is_any_true: lambda input: MaskedTensor(
        (_get_data(input) & _maybe_get_mask(input)).any(), _T["tensor"](True)),
})
