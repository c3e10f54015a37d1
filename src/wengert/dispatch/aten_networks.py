"""Operators of networks and of matrices as ``torch.ops.aten`` has them: PyTorch's arguments, and all of its results.

Operators of ours stand behind them, which have other arguments, or give less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..functions.places import PLACES
from ..tensor.functions import function

if TYPE_CHECKING:
    from collections.abc import Callable

REDUCTIONS = ("none", "mean", "sum")  # by their numbers


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


# -- losses -----------------------------------------------------------------------------------------------------------


def _loss(name: str, names: str) -> Callable[..., Any]:
    """A loss whose reduction is a number."""
    order = names.split()

    def loss(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(order, args)) | kwargs
        given["input"] = given.pop("self", given.get("input"))
        return PLACES["functional"][name](**given | {"reduction": REDUCTIONS[given.get("reduction", 1)]})

    loss.__name__ = loss.__qualname__ = name
    return loss


mse_loss = _loss("mse_loss", "input target reduction")
l1_loss = _loss("l1_loss", "input target reduction")
smooth_l1_loss = _loss("smooth_l1_loss", "input target reduction beta")
huber_loss = _loss("huber_loss", "input target reduction delta")
soft_margin_loss = _loss("soft_margin_loss", "input target reduction")
binary_cross_entropy = _loss("binary_cross_entropy", "input target weight reduction")
binary_cross_entropy_with_logits = _loss("binary_cross_entropy_with_logits", "input target weight pos_weight reduction")
cross_entropy_loss = _loss("cross_entropy", "input target weight reduction ignore_index label_smoothing")
nll_loss = _loss("nll_loss", "input target weight reduction ignore_index")


def _weights(target: Any, weight: Any, ignore_index: int, like: Any) -> tuple[Any, Any]:
    """The class of each element, 0 for those that are ignored, and what each counts."""
    kept = target != ignore_index
    place = target.masked_fill(~kept, 0)
    return place, kept.to(like.dtype) if weight is None else weight[place] * kept


def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, Any]:
    """``nll_loss``, and the weight of all elements."""
    total = _weights(target, weight, ignore_index, self)[1].sum() if reduction else self.new_zeros(())
    return nll_loss(self, target, weight, reduction, ignore_index), total


def nll_loss_backward(grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int,
        total_weight: Any) -> Any:
    """The gradient of ``nll_loss``."""
    place, each = _weights(target, weight, ignore_index, self)
    slope = -grad_output * each
    if REDUCTIONS[reduction] == "mean":
        slope = slope / total_weight
    classes = self.dim() - 1
    return self.new_zeros(self.shape).scatter(classes, place.unsqueeze(-1), slope.unsqueeze(-1))


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


def _euclidean_dist(x1: Any, x2: Any) -> Any:
    """The distances between rows, by their products."""
    return function("euclidean_cdist")(x1, x2, True)


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
    f.__name__: f
    for f in (_euclidean_dist, _fused_rms_norm, _linalg_det, _linalg_solve_ex, _linalg_svd, _native_batch_norm_legit,
            _scaled_dot_product_flash_attention_for_cpu, _unique2, binary_cross_entropy,
            binary_cross_entropy_with_logits, convolution_backward, elu_backward, huber_loss, l1_loss,
            log_sigmoid_forward, max_pool2d_with_indices_backward, mse_loss, native_batch_norm,
            native_batch_norm_backward, native_group_norm, native_group_norm_backward, native_layer_norm,
            native_layer_norm_backward, nll_loss, nll_loss_backward, nll_loss_forward, smooth_l1_loss, soft_margin_loss)
} | {"cross_entropy_loss": cross_entropy_loss}
