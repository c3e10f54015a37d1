"""What operators mean to a MaskedTensor.

Functions of the public surface that need gradients of their own stand in the table ``FUNCTIONS``, operators below
autograd, under PyTorch's names, in ``OPERATORS``.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

from ... import masked
from ...autograd import Function
from ...dispatch.torch_dispatch import aten
from ...functions.places import PLACES
from ...tensor import Tensor
from ...tensor.types import sparse_coo, sparse_csr, strided
from .core import (
    FUNCTIONS,
    OPERATORS,
    PLEASE,
    MaskedTensor,
    _get_data,
    _map_mt_args_kwargs,
    _masks_match,
    _maybe_get_mask,
    _tensors_match,
    _wrap_result,
    as_masked_tensor,
    is_masked_tensor,
    masked_tensor,
    parts,
    with_values,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BINARY_NAMES", "INPLACE_BINARY_NAMES", "INPLACE_UNARY_NAMES", "NATIVE_BINARY_FNS",
    "NATIVE_INPLACE_BINARY_FNS", "NATIVE_INPLACE_UNARY_FNS", "NATIVE_UNARY_FNS", "PASSTHROUGH_FNS", "REDUCE_NAMES",
    "UNARY_NAMES", "as_masked_tensor", "masked_tensor"]

_T = PLACES["torch"]
_T_BOOL = _T["tensor"](True).dtype


def _packets(names: list[str]) -> list[Any]:
    return [getattr(aten, n) for n in names]


# -- of one tensor: on the data, with the mask as it is ----------------------------------------------------------------

UNARY_NAMES = [
    "abs", "absolute", "acos", "arccos", "acosh", "arccosh", "angle", "asin", "arcsin", "asinh", "arcsinh", "atan",
    "arctan", "atanh", "arctanh", "bitwise_not", "ceil", "clamp", "clip", "conj_physical", "cos", "cosh", "deg2rad",
    "digamma", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "fix", "floor", "frac", "lgamma", "log", "log10",
    "log1p", "log2", "logit", "i0", "isnan", "nan_to_num", "neg", "negative", "positive", "pow", "rad2deg",
    "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sgn", "signbit", "sin", "sinc", "sinh", "sqrt", "square", "tan",
    "tanh", "trunc",
]
INPLACE_UNARY_NAMES = [n + "_" for n in UNARY_NAMES if n not in ("angle", "isnan", "positive", "signbit")]
NATIVE_UNARY_FNS, NATIVE_INPLACE_UNARY_FNS = _packets(UNARY_NAMES), _packets(INPLACE_UNARY_NAMES)


def _unary(fn: Any, inplace: bool, *args: Any, **kwargs: Any) -> Any:
    if kwargs:
        raise ValueError("MaskedTensor unary ops require that len(kwargs) == 0. If you need support for this, please "
            "open an issue on Github.")
    if any(isinstance(a, Tensor) for a in args[1:]):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    data = _get_data(args[0])
    return _result(args[0], with_values(data, fn(parts(data)[-1], *args[1:])), _maybe_get_mask(args[0]), inplace)


def _result(first: Any, data: Any, mask: Any, inplace: bool) -> Any:
    if not inplace:
        return _wrap_result(data, mask)
    first._set_data_mask(data, mask)
    return first


# -- of two: on the data of arguments whose masks are equal ------------------------------------------------------------

BINARY_NAMES = [
    "add", "atan2", "arctan2", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift",
    "div", "divide", "floor_divide", "fmod", "logaddexp", "logaddexp2", "mul", "multiply", "nextafter", "remainder",
    "sub", "subtract", "true_divide", "eq", "ne", "le", "ge", "greater", "greater_equal", "gt", "less_equal", "lt",
    "less", "maximum", "minimum", "fmax", "fmin", "not_equal",
]
INPLACE_BINARY_NAMES = [
    n + "_" for n in BINARY_NAMES if n not in ("logaddexp", "logaddexp2", "maximum", "minimum", "fmax", "fmin")]
NATIVE_BINARY_FNS, NATIVE_INPLACE_BINARY_FNS = _packets(BINARY_NAMES), _packets(INPLACE_BINARY_NAMES)


def _binary(fn: Any, inplace: bool, *args: Any, **kwargs: Any) -> Any:
    if kwargs:
        raise ValueError("len(kwargs) must equal 0")
    if any(isinstance(a, Tensor) for a in args[2:]):
        raise TypeError("MaskedTensor binary ops do not support Tensor arguments aside from the lhs and rhs")
    if not _masks_match(*args[:2]):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    first, second = (_get_data(a) for a in args[:2])
    mask = _maybe_get_mask(args[0] if is_masked_tensor(args[0]) else args[1])
    where = first if isinstance(first, Tensor) else second
    if where.layout is strided and getattr(second, "layout", strided) is strided:
        result = fn(first, second, *args[2:])
    else:
        result = with_values(where, fn(*_values_of_both(first, second), *args[2:]))
    if result.size() != mask.size() and result.layout is strided and not inplace:
        mask = mask.expand_as(result)
    return _result(args[0], result, mask, inplace)


def _values_of_both(first: Any, second: Any) -> tuple[Any, ...]:
    """The values of two sparse tensors whose places are the same, or of one and a number."""
    numbers = [not isinstance(v, Tensor) or (v.layout is strided and v.dim() == 0) for v in (first, second)]
    if any(numbers):
        return tuple(v if number else parts(v)[-1] for v, number in zip((first, second), numbers))
    if first.layout is not second.layout:
        _tensors_match(first, second)  # refuses
    same = [_tensors_match(a, b) for a, b in zip(parts(first)[:-1], parts(second)[:-1])]
    if not all(same):
        which = "sparse_coo" if len(same) == 1 else "sparse_csr col" if same[0] else "sparse_csr crow"
        raise ValueError(f"{which} indices must match. If you need support for this, please open an issue on Github.")
    return parts(first)[-1], parts(second)[-1]


# -- arranging elements: the same is done to the data and to the mask --------------------------------------------------

PASSTHROUGH_FNS = _packets(["select", "transpose", "split", "t", "slice", "slice_backward", "select_backward", "index",
    "expand", "view", "_unsafe_view", "_reshape_alias", "cat", "unsqueeze", "unfold", "unfold_backward", "im2col",
    "col2im", "stack"])


def _arranged(fn: Any, *args: Any, **kwargs: Any) -> Any:
    data_args, data_kwargs = _map_mt_args_kwargs(args, kwargs, _get_data)
    mask_args, mask_kwargs = _map_mt_args_kwargs(args, kwargs, _maybe_get_mask)
    return _wrap_result(fn(*data_args, **data_kwargs), fn(*mask_args, **mask_kwargs))


def _both(method: str, t: Any) -> Any:
    return MaskedTensor(getattr(_get_data(t), method)(), getattr(_maybe_get_mask(t), method)())


# -- reductions: of the elements that are there; a result is there if one of them was ----------------------------------

REDUCE_NAMES = ["sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "all", "norm", "var", "std"]


def _all(data: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None, *, mask: Any) -> Any:
    filled = data.bool() | ~mask
    return filled.all() if dim is None else filled.all(dim, keepdim)


def _left(mask: Any, dim: Any, keepdim: bool) -> Any:
    """Where something is left after a reduction over ``dim``, an int or several."""
    if mask.dim() == 0:
        return mask
    return mask.any(dim if isinstance(dim, int) else tuple(dim) or tuple(range(mask.dim())), keepdim)


def _reduction(name: str) -> Callable[..., Any]:
    reduce = _all if name == "all" else getattr(masked, name)

    def of_all(input: Any) -> Any:
        data, mask = input.get_data(), input.get_mask()
        if input.is_sparse and name not in ("argmin", "argmax"):
            data, mask = parts(data)[-1], parts(mask)[-1]
        elif input.is_sparse:  # places are counted in the whole tensor
            data, mask = data.to_dense(), mask.to_dense()
        return MaskedTensor._from_values(reduce(data, mask=mask), mask.any(), dense=True)

    def over(input: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
        if input.is_sparse:
            warnings.warn(f"The sparse version of {name} is not implemented in reductions.\n{PLEASE}", UserWarning,
                stacklevel=2)
            return NotImplemented
        result = reduce(input.get_data(), dim=dim, keepdim=keepdim, dtype=dtype, mask=input.get_mask())
        return MaskedTensor._from_values(result, _left(input.get_mask(), dim, keepdim), dense=True)

    return lambda *args, **kwargs: (of_all if len(args) == 1 and not kwargs else over)(*args, **kwargs)


def _norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The norm of what is there, with the arguments of ``torch.norm``."""
    data, mask = input.get_data(), input.get_mask()
    if input.is_sparse and dim is None:
        data, mask = parts(data)[-1], parts(mask)[-1]
    result = masked.norm(data, 2 if p in ("fro", None) else p, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return MaskedTensor._from_values(result, mask.any() if dim is None else _left(mask, dim, keepdim), dense=True)


_REDUCTIONS = {n: _reduction(n) for n in REDUCE_NAMES if n != "norm"} | {"norm": _norm}


# -- with gradients of their own ---------------------------------------------------------------------------------------


class _MaskedContiguous(Function):
    @staticmethod
    def forward(ctx: Any, input: Any) -> Any:  # type: ignore[override]
        return _both("contiguous", input)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:  # type: ignore[override]
        return grad_output


class _MaskedToDense(Function):
    @staticmethod
    def forward(ctx: Any, input: Any) -> Any:  # type: ignore[override]
        ctx.layout = input.layout
        return _both("to_dense", input)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:  # type: ignore[override]
        return grad_output if ctx.layout is strided else _sparse(grad_output, ctx.layout)


class _MaskedToSparse(Function):
    @staticmethod
    def forward(ctx: Any, input: Any, layout: Any) -> Any:  # type: ignore[override]
        return _sparse(input, layout)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:  # type: ignore[override]
        return _dense(grad_output), None


class _MaskedWhere(Function):
    @staticmethod
    def forward(ctx: Any, cond: Any, self: Any, other: Any) -> Any:  # type: ignore[override]
        ctx.mark_non_differentiable(cond)
        ctx.save_for_backward(cond)
        return _where(cond, self, other)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:  # type: ignore[override]
        (cond,) = ctx.saved_tensors
        nowhere = MaskedTensor(_get_data(grad_output), _T["zeros_like"](_maybe_get_mask(grad_output)))
        return None, _where(cond, grad_output, nowhere), _where(cond, nowhere, grad_output)


def _sparse(t: Any, layout: Any) -> Any:
    if t.layout is layout:
        return t
    data, mask = _get_data(_dense(t)), _maybe_get_mask(_dense(t))
    if layout is not sparse_coo and data.dim() != 2:
        raise ValueError(f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {data.size()}")
    places = mask.to_sparse() if layout is sparse_coo else mask.to_sparse_csr()
    return MaskedTensor(data.sparse_mask(places), places)


def _dense(t: Any) -> Any:
    return t if t.layout is strided else _both("to_dense", t)


def _function_where(cond: Any, input: Any = None, other: Any = None) -> Any:
    if other is None:
        raise ValueError("__torch_function__, torch.where: expected condition, input and other")
    return _MaskedWhere.apply(cond, input, other)


FUNCTIONS.update({
    **{place[n]: rule for place in (_T, Tensor.__dict__) for n, rule in _REDUCTIONS.items()},
    _T["where"]: _function_where, Tensor.where: lambda self, cond, other: _MaskedWhere.apply(cond, self, other),
    Tensor.contiguous: lambda t, **kwargs: t if t.is_contiguous() else _MaskedContiguous.apply(t),
    Tensor.to_dense: lambda t, **kwargs: _MaskedToDense.apply(t),
    Tensor.to_sparse: lambda t, *args, **kwargs: _MaskedToSparse.apply(t, sparse_coo),
    Tensor.to_sparse_csr: lambda t, *args, **kwargs: _MaskedToSparse.apply(t, sparse_csr),
})


# -- below autograd ----------------------------------------------------------------------------------------------------


def _on_data(packet: Any, *args: Any, **kwargs: Any) -> Any:
    """The operator on the data, with the mask of the first argument."""
    return MaskedTensor(packet(*map(_get_data, args), **kwargs), _maybe_get_mask(args[0]))


def _of_data(query: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return query(*map(_get_data, args), **kwargs)


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


def _indices(input: Any) -> Any:
    places = _get_data(input).indices()
    return MaskedTensor(places, _T["ones_like"](places, dtype=_T_BOOL))


def _contiguous(input: Any, *args: Any, **kwargs: Any) -> Any:
    if input.is_sparse:
        raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
    return _MaskedContiguous.apply(input)


OPERATORS.update({
    **{f: partial(rule, f, inplace) for rule, inplace, row in ((_unary, False, NATIVE_UNARY_FNS),
        (_unary, True, NATIVE_INPLACE_UNARY_FNS), (_binary, False, NATIVE_BINARY_FNS),
        (_binary, True, NATIVE_INPLACE_BINARY_FNS)) for f in row},
    **{getattr(aten, n): rule for n, rule in _REDUCTIONS.items()},
    **{f: partial(_arranged, f) for f in (*PASSTHROUGH_FNS, aten.basic_scatter)},
    **{f: partial(_on_data, f) for f in (aten.detach, aten.clone, aten._to_copy, aten.ones_like)},
    **{getattr(aten, f.__name__): partial(_of_data, f)
        for f in (Tensor.stride, Tensor.is_contiguous, Tensor.is_same_size)},
    aten.where: _where, aten._softmax: _softmax, aten._softmax_backward_data: _softmax_backward_data,
    aten.copy_: _copy_, aten._local_scalar_dense: _local_scalar_dense, aten.new_empty_strided: _new_empty_strided,
    aten.contiguous: _contiguous, aten._values: partial(_both, "values"), aten._indices: _indices,
    aten._to_dense: lambda t, *args, **kwargs: _dense(t),
    aten._to_sparse: lambda t, *args, **kwargs: _sparse(t, sparse_coo),
    aten._to_sparse_csr: lambda t, *args, **kwargs: _sparse(t, sparse_csr),
    aten._is_any_true: lambda t: MaskedTensor((_get_data(t) & _maybe_get_mask(t)).any(), _T["tensor"](True)),
})
