"""What calling an operator of ``torch.ops.aten`` does here: PyTorch's arguments, and all of its results.

Most are our operators, functions and methods of that name. Those that PyTorch has only there, or that give more there,
stand in the table ``OPERATORS``.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from ..functions.creation import zeros
from ..functions.places import PLACES
from ..functions.random import bernoulli
from ..functions.storage import window
from ..functions.view_replay import Like
from ..ops.operator import TABLE, Operator
from ..tensor import classes
from ..tensor.functions import function, inplace_function
from .argument_errors import reporting
from .decompositions import _ARRANGED, BACKWARD, _slice, select_backward, slice_backward
from .torch_dispatch import OURS, OpOverload

if TYPE_CHECKING:
    from collections.abc import Callable

REDUCTIONS = ("none", "mean", "sum")  # by their numbers


def implementation(name: str) -> Callable[..., Any]:
    """What calling PyTorch's operator ``name`` does here."""
    if name == "detach":
        return classes.Tensor_.detach
    if name in OPERATORS:
        return _with_words(OPERATORS[name])
    method = getattr(classes.Tensor_, name, None)
    if callable(method):
        return method
    if name.endswith("_") and not name.startswith("_") and isinstance(TABLE.get(name[:-1]), Operator):
        return inplace_function(name[:-1])
    if name in TABLE:
        return function(name)
    # takes PyTorch's arguments, which an operator of ours behind another name need not
    made = PLACES["torch"].get(name)
    if made is not None:
        return lambda *args, pin_memory=None, layout=None, **kwargs: made(*args, **kwargs)
    if name in OURS:
        return function(OURS[name])
    ours = next((n for n, theirs in BACKWARD.items() if theirs == name and not theirs.startswith("native")), None)
    if ours is None:
        raise AttributeError(f"there is no implementation of aten::{name} here")
    rule, back = function(ours), _ARRANGED[ours][1] if ours in _ARRANGED else lambda *args: args
    return lambda *args, **kwargs: rule(*back(*args, *kwargs.values()))


_with_words = functools.cache(reporting)  # a function with its errors about arguments in PyTorch's words
OpOverload.implementation = staticmethod(implementation)


# -- memory ------------------------------------------------------------------------------------------------------------


def _new_zeros_with_same_feature_meta(self: Any, other: Any, *, self_num_batch_dims: int = 0) -> Any:
    """Zeros with the layout of ``other``, gaps included, for each index of the first dimensions of ``self``."""
    batch = tuple(self.shape[:self_num_batch_dims])
    storage, offset, strides = window(other._wg_data)
    each = storage.nbytes() // other._wg_data.itemsize
    steps = tuple(each * math.prod(batch[i + 1 :]) for i in range(len(batch)))
    whole = zeros(each * math.prod(batch), dtype=other.dtype)
    return whole.as_strided((*batch, *other.shape), (*steps, *strides), offset)


def slice_inverse(self: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None,
        step: int = 1) -> Any:
    """What ``self`` is a slice of, as a view of its memory: laid out as ``src`` is."""
    found = self.as_strided(tuple(src.shape), tuple(src.stride()), src.storage_offset())
    view = found._wg_meta.view
    op, args, earlier = view.last
    like = Like(args)
    like.tensor = src
    view.last = (op, like, earlier)
    return found


# -- normalisation ----------------------------------------------------------------------------------------------------


def _statistics(rows: Any, eps: float) -> tuple[Any, Any]:
    """Mean of the last dimension and one over its standard deviation."""
    var, mean = rows.var(-1, correction=0), rows.mean(-1)
    return mean, (var + eps).rsqrt()


def native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any]:
    """``layer_norm``, and the mean and one over the standard deviation that it divided by: ``(output, mean, rstd)``."""
    n = len(normalized_shape)
    output = PLACES["functional"]["layer_norm"](input, normalized_shape, weight, bias, eps)
    mean, rstd = _statistics(input.detach().flatten(input.dim() - n) if n else input.detach(), eps)
    shape = (*mean.shape, *(1,) * n)
    return output, mean.view(shape), rstd.view(shape)


def _fused_rms_norm(input: Any, normalized_shape: Any, weight: Any, eps: float | None) -> tuple[Any, Any]:
    """``rms_norm``, and one over the root of the mean square: ``(output, rstd)``."""
    output = PLACES["functional"]["rms_norm"](input, normalized_shape, weight, eps)
    if eps is None:
        eps = 2.0 ** (-52 if input.dtype.itemsize == 8 else -23)
    dims = tuple(range(-len(normalized_shape), 0))
    return output, (input.square().mean(dims, True) + eps).rsqrt()


def native_group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int,
        eps: float) -> tuple[Any, Any, Any]:
    """``group_norm``, and the mean and one over the standard deviation of each group: ``(output, mean, rstd)``."""
    output = PLACES["functional"]["group_norm"](input, group, weight, bias, eps)
    return (output, *_statistics(input.reshape(N, group, C // group * HxW), eps))


def native_batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
        momentum: float, eps: float) -> tuple[Any, Any, Any]:
    """``batch_norm``: ``(output, mean, invstd)``, the mean of each channel and one over its deviation, in training."""
    output = PLACES["functional"]["batch_norm"](input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return output, input.new_empty(0), input.new_empty(0)
    return (output, *_statistics(input.detach().transpose(0, 1).flatten(1), eps))


def _native_batch_norm_legit(input: Any, weight: Any, bias: Any, *rest: Any) -> tuple[Any, Any, Any]:
    """``native_batch_norm``; without running statistics in its overload ``no_stats``."""
    return native_batch_norm(input, weight, bias, *(rest if len(rest) == 5 else (None, None, *rest)))


def _known(eps: Any, *args: Any) -> float:
    """What was added to the variance, for derivatives of a gradient, to which statistics depend on the input."""
    return float(eps()) if any(getattr(a, "requires_grad", False) for a in args) else 0.0


def native_layer_norm_backward(grad_out: Any, input: Any, normalized_shape: Any, mean: Any, rstd: Any, weight: Any,
        bias: Any, output_mask: Any) -> tuple[Any, Any, Any]:
    """The gradients of ``native_layer_norm`` in input, weight and bias, where ``output_mask`` is True."""
    dims = len(normalized_shape)
    axes = tuple(range(-dims, 0))
    eps = _known(lambda: (rstd**-2 - input.var(axes, correction=0, keepdim=True)).mean(), grad_out, input, weight)
    found = function("layer_norm_grad")(grad_out, input, mean, rstd, weight, bias, dims, eps, tuple(output_mask))
    return _asked_for(found, output_mask)


def native_group_norm_backward(grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int,
        group: int, output_mask: Any) -> tuple[Any, Any, Any]:
    """The gradients of ``native_group_norm`` in input, weight and bias, where ``output_mask`` is True."""
    rows = input.reshape(N, group, C // group * HxW)
    eps = _known(lambda: (rstd**-2 - rows.var(-1, correction=0)).mean(), grad_out, input, weight)
    found = function("group_norm_grad")(grad_out, input, mean, rstd, weight, group, eps, tuple(output_mask))
    return _asked_for(found, output_mask)


def native_batch_norm_backward(grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any,
        save_mean: Any, save_invstd: Any, train: bool, eps: float, output_mask: Any) -> tuple[Any, Any, Any]:
    """The gradients of ``native_batch_norm`` in input, weight and bias, where ``output_mask`` is True."""
    statistics = (save_mean, save_invstd) if train else (running_mean, (running_var + eps).rsqrt())
    found = function("batch_norm_grad")(grad_out, input, weight, *statistics, train, eps, tuple(output_mask))
    return _asked_for(found, output_mask)


def _asked_for(found: Any, mask: Any) -> tuple[Any, Any, Any]:
    a, b, c = (g if wanted else None for g, wanted in zip(found, mask))
    return a, b, c


def native_dropout(input: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    """``(what is left, which)``."""
    if train is False or not p:
        return input.clone(), input.new_ones(input.shape).bool()
    kept = bernoulli(input.new_full(input.shape, 1 - p)).bool()
    return input * kept / (1 - p) if p < 1 else input * kept, kept


# -- losses -----------------------------------------------------------------------------------------------------------


def _loss(name: str, names: str) -> Callable[..., Any]:
    order = names.split()

    def loss(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(order, args)) | kwargs
        given["input"] = given.pop("self", given.get("input"))
        return PLACES["functional"][name](**given | {"reduction": REDUCTIONS[given.get("reduction", 1)]})

    loss.__name__ = loss.__qualname__ = name
    return loss


def _weights(target: Any, weight: Any, ignore_index: int, like: Any) -> tuple[Any, Any]:
    """The class of each element, 0 for those that are ignored, and what each counts."""
    kept = target != ignore_index
    place = target.masked_fill(~kept, 0)
    return place, kept.to(like.dtype) if weight is None else weight[place] * kept


def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, Any]:
    """``nll_loss``, and the weight of all elements."""
    total = _weights(target, weight, ignore_index, self)[1].sum() if reduction else self.new_zeros(())
    return OPERATORS["nll_loss"](self, target, weight, reduction, ignore_index), total


def nll_loss_backward(grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int,
        total_weight: Any) -> Any:
    """The gradient of ``nll_loss``."""
    place, each = _weights(target, weight, ignore_index, self)
    slope = -grad_output * each
    if REDUCTIONS[reduction] == "mean":
        slope = slope / total_weight
    return self.new_zeros(self.shape).scatter(self.dim() - 1, place.unsqueeze(-1), slope.unsqueeze(-1))


# -- activations ------------------------------------------------------------------------------------------------------


def log_sigmoid_forward(self: Any) -> tuple[Any, Any]:
    """``logsigmoid``, and ``exp(-abs(self))``, which its gradient can be had from."""
    return function("logsigmoid")(self), self.detach().abs().neg().exp()


def elu_backward(grad_output: Any, alpha: float, scale: float, input_scale: float, is_result: bool,
        self_or_result: Any) -> Any:
    """The gradient of ``elu``, from its argument or its result."""
    if not is_result:
        return function("elu_grad")(grad_output, self_or_result, alpha, scale, input_scale)
    below = grad_output * input_scale * (self_or_result + alpha * scale)
    return function("where")(self_or_result <= 0, below, grad_output * scale)


# -- convolution, attention, distances --------------------------------------------------------------------------------


def convolution_backward(grad_output: Any, input: Any, weight: Any, bias_sizes: Any, stride: Any, padding: Any,
        dilation: Any, transposed: bool, output_padding: Any, groups: int, output_mask: Any) -> tuple[Any, Any, Any]:
    """The gradients of a convolution in its input, weight and bias; None for those that ``output_mask`` leaves out."""
    n = weight.dim() - 2
    how = (*(tuple(v) * (n if len(v) == 1 else 1) for v in (stride, padding, dilation)), groups)
    large, small = (grad_output, input) if transposed else (input, grad_output)
    for_input = for_weight = for_bias = None
    if output_mask[0] and transposed:
        for_input = function("convolution_forward")(grad_output, weight, None, *how)
    elif output_mask[0]:
        for_input = function("conv_input")(grad_output, weight, tuple(input.shape), *how)
    if output_mask[1]:
        for_weight = function("conv_weight")(large, small, tuple(weight.shape), *how)
    if output_mask[2]:
        for_bias = grad_output.sum((0, *range(2, n + 2)))
    return for_input, for_weight, for_bias


def _scaled_dot_product_flash_attention_for_cpu(query: Any, key: Any, value: Any, dropout_p: float = 0.0,
        is_causal: bool = False, *, attn_mask: Any = None, scale: float | None = None) -> tuple[Any, Any]:
    """Attention, and the logarithm of the sum that each row of weights was divided by."""
    output = PLACES["functional"]["scaled_dot_product_attention"](query, key, value, attn_mask, dropout_p, is_causal,
        scale=scale)
    scores = query.detach() @ key.detach().mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -float("inf")) if attn_mask.dtype.itemsize == 1 else scores + attn_mask
    if is_causal:
        scores = scores.masked_fill(scores.new_ones(scores.shape[-2:]).triu(1).bool(), -float("inf"))
    return output, scores.logsumexp(-1)


def max_pool2d_with_indices_backward(grad_output: Any, self: Any, kernel_size: Any, stride: Any, padding: Any,
        dilation: Any, ceil_mode: bool, indices: Any) -> Any:
    """The gradient of ``max_pool2d``: each element goes to where its maximum was."""
    zeros = self.new_zeros((*self.shape[:-2], self.shape[-2] * self.shape[-1]))
    return zeros.scatter_add(-1, indices.flatten(-2), grad_output.flatten(-2)).view(self.shape)


# -- matrices, distinct elements --------------------------------------------------------------------------------------


def _linalg_det(A: Any) -> tuple[Any, Any, Any]:
    """``det``, and the factors that it was taken from."""
    turned = A.is_contiguous() and not A.is_complex()  # which PyTorch factors without a copy
    return (function("linalg_det")(A), *function("linalg_lu_factor")(A.detach().mT if turned else A.detach()))


def _linalg_solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> tuple[Any, Any, Any, Any]:
    """``solve``, the factors of ``A``, and 0 for each matrix that is not singular."""
    result, info = PLACES["linalg"]["solve_ex"](A, B, left=left, check_errors=check_errors)
    return (result, *function("linalg_lu_factor")(A.detach()), info)


def _linalg_svd(A: Any, full_matrices: bool = False, compute_uv: bool = True, *,
        driver: str | None = None) -> tuple[Any, Any, Any]:
    """The singular value decomposition; of ``compute_uv=False`` only the values."""
    if compute_uv:
        u, s, vh = function("linalg_svd")(A, full_matrices, driver=driver)
        return u, s, vh
    return A.new_empty(0), function("linalg_svdvals")(A, driver=driver), A.new_empty(0)


def _unique2(self: Any, sorted: bool = True, return_inverse: bool = False,
        return_counts: bool = False) -> tuple[Any, Any, Any]:
    """``unique``: always ``(values, inverse, counts)``, empty where not requested."""
    values, inverse, counts = PLACES["torch"]["unique"](self, sorted, True, True)
    return values, inverse if return_inverse else inverse.new_empty(0), counts if return_counts else counts.new_empty(0)


OPERATORS: dict[str, Callable[..., Any]] = {
    "_local_scalar_dense": lambda self: self.item(),
    "_log_softmax": lambda self, dim, half_to_float=False: function("log_softmax")(self, dim),
    "_reshape_alias": lambda self, size, stride: self.as_strided(size, stride, self.storage_offset()),
    "_softmax": lambda self, dim, half_to_float=False: function("softmax")(self, dim),
    "_unsafe_view": lambda self, size: self.reshape(size),
    "col2im": lambda self, output_size, kernel_size, dilation, padding, stride: function("fold")(self, output_size,
        kernel_size, dilation, padding, stride),
    "embedding": lambda weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False: function(
        "embedding_rows")(weight, indices, padding_idx if padding_idx >= 0 else None, scale_grad_by_freq),
    "im2col": lambda self, kernel_size, dilation, padding, stride: function("unfold_windows")(self, kernel_size,
        dilation, padding, stride),
    "lift_fresh": lambda self: self, "lift_fresh_copy": lambda self: self.clone(), "slice": _slice,
    "sym_numel": lambda self: int(self.numel()), "sym_storage_offset": lambda self: int(self.storage_offset()),
    "sym_size": lambda self, dim=None: self.size() if dim is None else self.size(dim),
    "sym_stride": lambda self, dim=None: self.stride() if dim is None else self.stride(dim),
    "tanh_backward": lambda grad_output, output: grad_output * (1 - output * output),
    "threshold_backward": lambda grad_output, self, threshold: grad_output.masked_fill(self <= threshold, 0),
    "where": lambda condition, self, other: function("where")(condition, self, other),
    "_euclidean_dist": lambda x1, x2: function("euclidean_cdist")(x1, x2, True),
    **{name: _loss(name, f"input target {rest}") for name, rest in (
        ("mse_loss", "reduction"), ("l1_loss", "reduction"), ("smooth_l1_loss", "reduction beta"),
        ("huber_loss", "reduction delta"), ("soft_margin_loss", "reduction"), ("binary_cross_entropy",
        "weight reduction"), ("binary_cross_entropy_with_logits", "weight pos_weight reduction"),
        ("nll_loss", "weight reduction ignore_index"))},
    "cross_entropy_loss": _loss("cross_entropy", "input target weight reduction ignore_index label_smoothing"),
}
for _name, _operator in OPERATORS.items():
    _operator.__name__ = _operator.__qualname__ = _name
OPERATORS.update({f.__name__: f for f in (_fused_rms_norm, _linalg_det, _linalg_solve_ex, _linalg_svd,
    _native_batch_norm_legit, _new_zeros_with_same_feature_meta, _scaled_dot_product_flash_attention_for_cpu, _unique2,
    convolution_backward, elu_backward, log_sigmoid_forward, max_pool2d_with_indices_backward, native_batch_norm,
    native_batch_norm_backward, native_dropout, native_group_norm, native_group_norm_backward, native_layer_norm,
    native_layer_norm_backward, nll_loss_backward, nll_loss_forward, select_backward, slice_backward, slice_inverse)})
