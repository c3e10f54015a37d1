"""Losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.array_likes import as_array
from ..arrays.dtypes import can_cast, default_float, is_half, promote, scalar_name
from ..arrays.errors import warn
from ..arrays.storageless import zeros_if_storageless
from .errors import common_shape
from .operator import Array, family
from .reduce import mean, total
from .refusals import same_width, unsupported

operator, composite = family("functional")


def legacy(size_average: Any, reduce: Any, reduction: str) -> str:
    """The ``reduction`` that the deprecated flags mean."""
    if size_average is None and reduce is None:
        return reduction
    mean = True if size_average is None else size_average
    total = True if reduce is None else reduce
    found = "mean" if mean and total else "sum" if total else "none"
    warn(f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.")
    return found


def checked(reduction: str) -> str:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def _reduced(values: Any, reduction: str) -> Any:
    checked(reduction)
    if reduction == "none":
        return values
    if reduction == "sum":
        return total(values, None)
    return mean.forward(values) if values.size else np.full((), np.nan, values.dtype)


def _spread(F: Any, g: Any, reduction: str, count: int) -> Any:
    """The gradient of the elements, from that of their reduction."""
    return g / count if reduction == "mean" else g


def _reduce_with(F: Any, values: Any, reduction: str) -> Any:
    checked(reduction)
    return values if reduction == "none" else F.mean(values) if reduction == "mean" else F.sum(values)


def _size(shape: Any) -> int:
    n = 1
    for k in shape:
        n *= k
    return n


def _warn_size(name: str, input: Any, target: Any) -> None:
    if input.shape != target.shape:
        warn(f"Using a target size (torch.Size({list(target.shape)})) that is different to the input size "
            f"(torch.Size({list(input.shape)})). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.")


def _difference(input: Any, target: Any, kernel: str) -> Any:
    if input.dtype.kind in "iubc":
        raise unsupported(kernel, input.dtype)
    return np.subtract(input, target)


def _mse_raw(g: Any, input: Any, target: Any, reduction: str) -> Any:
    difference = input - target
    return (2.0 * _spread(None, g, reduction, _size(difference.shape))) * difference


def _mse_twice(F: Any, g: Any, needs: Any, grad_output: Any, input: Any, target: Any, reduction: Any) -> Any:
    back = F.mse_loss_grad(g, input, target, reduction) if needs[0] else None
    slope: Any = 2.0 * _spread(F, grad_output, reduction, _size(g.shape)) * g if needs[1] or needs[2] else None
    return back, slope, -slope if needs[2] else None


@composite(raw=_mse_raw, node="MseLossBackwardBackward0", whole=("g", "input", "target"), grad=_mse_twice, places=())
def mse_loss_grad(F, g, input, target, reduction):
    """The gradient in ``input``; in ``target`` with the two exchanged."""
    return _mse_raw(g, input, target, reduction)


@operator(
    grad=dict(input=lambda F, g, input, target, reduction: F.mse_loss_grad(g, input, target, reduction),
              target=lambda F, g, input, target, reduction: F.mse_loss_grad(g, target, input, reduction)),
    promote="elementwise", scalars="", node="MseLossBackward0", places=(),
)
def mse_loss(input: Array, target: Array, reduction="mean"):
    if input.dtype.kind in "iubc":
        raise unsupported("mse_cpu", input.dtype)
    if input.dtype.itemsize == 2:  # PyTorch rounds the difference, and the square again
        difference = np.subtract(input, target)
        return _reduced(np.multiply(difference, difference), reduction)
    return _reduced(K.square_difference(input, target), reduction)


def _sign_slope(F: Any, g: Any, a: Any, b: Any, reduction: str) -> Any:
    s = F.sgn(a - b)
    return _spread(F, g, reduction, _size(s.shape)) * s


@operator(
    grad=dict(input=lambda F, g, input, target, reduction: _sign_slope(F, g, input, target, reduction),
              target=lambda F, g, input, target, reduction: _sign_slope(F, g, target, input, reduction)),
    promote="elementwise", scalars="", wirtinger=True, places=(),
)
def l1_loss(input: Array, target: Array, reduction="mean"):
    d = K.absolute(K.subtract(input, target))
    if reduction == "mean" and d.dtype.kind in "iub":
        from ..arrays.dtypes import scalar_name

        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            "Got: " + scalar_name(d.dtype)
        )
    return _reduced(d, reduction)


def _bent(name: str, node: str) -> None:
    """The gradient in ``input`` of a loss that is a parabola within ``delta`` of its minimum, and straight beyond."""

    def raw(g: Any, input: Any, target: Any, reduction: str, delta: float, scale: float) -> Any:
        d = input - target
        return _spread(None, g, reduction, _size(d.shape)) * (K.hardtanh(d, -delta, delta) * scale)

    def twice(F: Any, g: Any, needs: Any, grad_output: Any, input: Any, target: Any, reduction: Any, delta: Any,
            scale: Any) -> Any:
        back = getattr(F, name)(g, input, target, reduction, delta, scale) if needs[0] else None
        slope: Any = None
        if needs[1] or needs[2]:  # at the corner it is flat
            every = _spread(F, grad_output, reduction, _size(g.shape)) * g * scale
            slope = F.where(F.abs(input - target) < delta, every, 0.0)
        return back, slope, -slope if needs[2] else None

    @composite(name=name, raw=raw, node=node, whole=("g", "input", "target"), grad=twice, places=())
    def bent(F, g, input, target, reduction, delta, scale):
        d = input - target
        return _spread(F, g, reduction, _size(d.shape)) * (F.where(F.abs(d) < delta, d, F.sgn(d) * delta) * scale)


_bent("smooth_l1_loss_grad", "SmoothL1LossBackwardBackward0")
_bent("huber_loss_grad", "HuberLossBackwardBackward0")


@operator(
    grad=dict(input=lambda F, g, input, target, reduction, beta: F.smooth_l1_loss_grad(g, input, target, reduction,
        beta, 1 / beta),
              target=lambda F, g, input, target, reduction, beta: F.smooth_l1_loss_grad(g, target, input, reduction,
                  beta, 1 / beta)),
    promote="elementwise", scalars="", node="SmoothL1LossBackward0", places=(),
)
def smooth_l1(input: Array, target: Array, reduction="mean", beta=1.0):
    if input.dtype.kind in "iubc":
        raise unsupported("smooth_l1_cpu", input.dtype)
    return _reduced(K.smooth_l1(input, target, beta), reduction)


@operator(
    grad=dict(
        input=lambda F, g, input, target, reduction, delta: F.huber_loss_grad(g, input, target, reduction, delta, 1.0),
              target=lambda F, g, input, target, reduction, delta: F.huber_loss_grad(g, target, input, reduction, delta,
                  1.0)),
    promote="elementwise", scalars="", node="HuberLossBackward0", places=(),
)
def huber(input: Array, target: Array, reduction="mean", delta=1.0):
    d = np.abs(_difference(input, target, "huber_cpu"))
    t = d.dtype.type
    return _reduced(np.where(d <= t(delta), d * d * t(0.5), (d - t(0.5 * delta)) * t(delta)), reduction)


@composite
def kl_div(F, input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """Kullback–Leibler divergence of log-probabilities ``input`` from ``target``, element by element, reduced."""
    if reduction == "mean" and size_average is None and reduce is None:
        warn("reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the "
            "same as 'batchmean' in the next major release.")
    reduction = legacy(size_average, reduce, reduction)
    if "i" in (F.dtype_of(input).kind, F.dtype_of(target).kind):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if "c" in (F.dtype_of(input).kind, F.dtype_of(target).kind):
        raise RuntimeError("kl_div: Complex inputs not supported.")
    values = F.exp(target) * (target - input) if log_target else F.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return F.sum(values) / input.shape[0] if input.ndim else F.sum(values)
    return _reduce_with(F, values, reduction)


def _bce_check(input: Any, target: Any, name: str) -> None:
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"Using a target size (torch.Size({list(target.shape)})) that is different to the input size "
            f"(torch.Size({list(input.shape)})) is deprecated. Please ensure they have the same size.")


_TINY = float(np.float32(1e-12))  # PyTorch's constant, rounded as it rounds it


@operator(
    grad=dict(input=lambda F, g, input, target: g * (input - target) / F.clamp((1 - input) * input, min=_TINY),
              target=lambda F, g, input: g * (F.log(1 - input) - F.log(input))),
    promote="elementwise", scalars="", places=(), node="BinaryCrossEntropyBackward0",
)
def bce_elements(input: Array, target: Array):
    if input.size and (input.min() < 0 or input.max() > 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    if target.size and (target.min() < 0 or target.max() > 1):
        raise RuntimeError("all elements of target should be between 0 and 1")
    t = input.dtype.type
    low = np.maximum(np.log1p(-input), t(-100))
    return (target - t(1)) * low - target * np.maximum(np.log(input), t(-100))


@composite(node="BinaryCrossEntropyBackward0", whole=("input", "target"), fixed=("weight",))
def binary_cross_entropy(F, input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """``-(y log p + (1 - y) log(1 - p))``, its logarithms cut off at -100."""
    reduction = legacy(size_average, reduce, reduction)
    _bce_check(input, target, "binary_cross_entropy")
    if F.dtype_of(input) != F.dtype_of(target):
        from ..arrays.dtypes import scalar_name

        raise RuntimeError(f"Found dtype {scalar_name(F.dtype_of(target))} but expected "
            f"{scalar_name(F.dtype_of(input))}")
    values = F.bce_elements(input, target)
    return _reduce_with(F, values if weight is None else F.cast(values * weight, F.dtype_of(input)), reduction)


@operator(
    grad=dict(input=lambda F, g, input, target: g * (F.sigmoid(input) - target), target=lambda F, g, input: g * -input),
    promote="elementwise", scalars="", places=(), node="BinaryCrossEntropyWithLogitsBackward0",
)
def bce_logit_elements(input: Array, target: Array):
    return (1 - target) * input - K.log_sigmoid(input)


@composite(node="BinaryCrossEntropyWithLogitsBackward0", whole=("input", "target"), fixed=("weight", "pos_weight"))
def binary_cross_entropy_with_logits(F, input, target, weight=None, size_average=None, reduce=None, reduction="mean",
        pos_weight=None):
    """Binary cross-entropy of ``sigmoid(input)``, computed without overflow."""
    reduction = legacy(size_average, reduce, reduction)
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"Target size (torch.Size({list(target.shape)})) must be the same as input size "
            f"(torch.Size({list(input.shape)}))")
    if F.dtype_of(target).kind in "iub" and F.dtype_of(input).kind == "f":
        into(F.dtype_of(input), F.dtype_of(target))
    if pos_weight is None and is_half(F.dtype_of(input)) and not is_half(F.dtype_of(target)):
        values = (1 - target) * input - F.logsigmoid(input)  # the last term is rounded before the others are there
    elif pos_weight is None:
        values = F.bce_logit_elements(input, target)
    else:
        values = (1 - target) * input - (1 + (pos_weight - 1) * target) * F.logsigmoid(input)
    values = values if weight is None else values * weight
    # all is written to what began as 1 - target
    if weight is not None or pos_weight is not None or F.dtype_of(input) != F.dtype_of(target):
        values = F.cast(values, F.dtype_of(target))
    return _reduce_with(F, values, reduction)


def into(found: Any, wanted: Any) -> None:
    """Refuse results of type ``found`` where PyTorch writes them to a tensor of type ``wanted``."""
    if not can_cast(found, wanted):
        raise RuntimeError(f"result type {scalar_name(found)} can't be cast to the desired output type "
            f"{scalar_name(wanted)}")


@composite(node="SoftMarginLossBackward0", whole=("input",))
def soft_margin_loss(F, input, target, size_average=None, reduce=None, reduction="mean"):
    """``log(1 + exp(-y x))``."""
    if F.dtype_of(input).kind == "b":
        F.neg(input)  # which is refused
    if common_shape(input.shape, target.shape) != tuple(input.shape):
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape "
            f"{list(common_shape(input.shape, target.shape))}")
    into(promote(promote(F.dtype_of(input), F.dtype_of(target)), default_float()), F.dtype_of(input))
    return _reduce_with(F, F.soft_margin_elements(input, target), legacy(size_average, reduce, reduction))


def _soft_margin_back(F: Any, g: Any, input: Any, target: Any) -> Any:
    z = F.exp(-(input * target))
    return F.cast(g * (-target * z / (z + 1)), F.dtype_of(input))


def _soft_margin_target(F: Any, g: Any, input: Any, target: Any) -> Any:
    z = F.exp(-(input * target))
    return F.sum_to(g * (-input * z / (z + 1)), tuple(target.shape))


@operator(grad=dict(input=_soft_margin_back, target=_soft_margin_target), places=(), node="SoftMarginLossBackward0")
def soft_margin_elements(input: Array, target: Array):
    """``log(1 + exp(-target * input))`` as it stands, so infinite where the power is."""
    return K.cast(np.log(1 + np.exp(K.cast(-input * target, input.dtype))), input.dtype)


@composite
def hinge_embedding_loss(F, input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """``x`` where ``y = 1``, ``max(0, margin - x)`` where ``y = -1``."""
    kind = F.dtype_of(input)
    zero = F.new_zeros(input, ())
    gap = F.constant(as_array(margin).astype(kind)) - input
    values = F.where(target != 1, F.clamp_min(gap, 0), zero) + F.where(target != -1, input, zero)
    return _reduce_with(F, values, legacy(size_average, reduce, reduction))


@composite
def margin_ranking_loss(F, input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """``max(0, -y (x1 - x2) + margin)``."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"torch.Size({list(input1.shape)}), input2: torch.Size({list(input2.shape)}), target: "
            f"torch.Size({list(target.shape)}) ")
    return _reduce_with(F, F.clamp_min(-target * (input1 - input2) + margin, 0.0),
        legacy(size_average, reduce, reduction))


@composite
def cosine_embedding_loss(F, input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """``1 - cos`` for pairs with ``y = 1``, ``max(0, cos - margin)`` for pairs with ``y = -1``."""
    dim = target.ndim
    if target.ndim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if (target.ndim == 1 and input1.ndim != 2) or (target.ndim == 0 and input1.ndim != 1):
        kind = ("1D target tensor expects 2D input tensors" if target.ndim == 1
            else "0D target tensor expects 1D input tensors")
        raise RuntimeError(f"{kind}, but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}.")
    eps = _TINY
    cos = (
        F.sum(input1 * input2, dim) / F.sqrt((F.sum(input1 * input1, dim) + eps) * (F.sum(input2 * input2, dim) + eps)))
    zero = F.new_zeros(cos, ())
    values = (F.where(target == 1, F.constant(np.ones((), F.dtype_of(cos))) - cos, zero) + F.where(target == -1,
        F.clamp_min(cos - margin, 0.0), zero))
    return _reduce_with(F, values, legacy(size_average, reduce, reduction))


@composite
def triplet_margin_loss(F, anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None,
        reduce=None, reduction="mean"):
    """``max(0, d(a, p) - d(a, n) + margin)``. Balntas et al., 2016."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    near, far = F.pairwise_distance(anchor, positive, p, eps), F.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = F.minimum(far, F.pairwise_distance(positive, negative, p, eps))
    return _reduce_with(F, F.clamp_min(near + margin - far, 0.0), legacy(size_average, reduce, reduction))


@composite
def poisson_nll_loss(F, input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None,
        reduction="mean"):
    """Negative log-likelihood of Poisson counts, up to a constant (with Stirling's term if ``full``)."""
    reduction = legacy(size_average, reduce, reduction)
    values = F.exp(input) - target * input if log_input else input - target * F.log(input + eps)
    if full:
        stirling = target * F.log(target) - target + F.log(target * (2 * np.pi)) * 0.5
        values = values + F.masked_fill(stirling, target <= 1, 0)
    return _reduce_with(F, values, reduction)


@composite
def gaussian_nll_loss(F, input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Negative log-likelihood of a normal distribution with mean ``input`` and variance ``var``.
    Nix and Weigend, 1994.
    """
    if not hasattr(var, "shape"):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = F.new_zeros(input, tuple(input.shape)) + var
    elif tuple(var.shape) != tuple(input.shape):
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = F.unsqueeze(var, -1)
        # one variance for a whole dimension
        elif input.ndim != var.ndim or sum(v for n, v in zip(input.shape, var.shape) if n != v) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    into(promote(F.dtype_of(var), default_float()), F.dtype_of(var))
    safe = F.raised(var, eps)
    difference = input - target
    values = (F.log(safe) + F.square(difference) / safe) * 0.5
    if full:
        values = values + 0.5 * float(np.log(2 * np.pi))
    return _reduce_with(F, values, reduction)


def _check_margins(input: Any) -> None:
    shape = list(input.shape)
    if len(shape) > 2 or (shape and shape[-1] == 0):
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {shape}")


def _check_long(target: np.ndarray) -> None:
    if target.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {scalar_name(target.dtype)}")


def _margin_parts(F: Any, input: Any, target: Any) -> tuple[Any, Any]:
    rows = input if input.ndim == 2 else F.reshape(input, (1, -1))
    index = target if target.ndim == 1 else F.unsqueeze(target, 0)
    return rows, index


@composite(by_example=True, node="MultiMarginLossBackward0", whole=("input",), fixed=("weight",))
def multi_margin_loss(F, input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """``sum_j max(0, margin - x_y + x_j)^p / classes`` over the wrong classes."""
    reduction = checked(legacy(size_average, reduce, reduction))
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    if weight is not None and weight.shape[0] != input.shape[-1]:
        raise RuntimeError(f"inconsistent weight size, expected {input.shape[-1]} but got {list(weight.shape)}")
    _check_margins(input)
    if weight is not None:
        same_width(F.dtype_of(input), F.dtype_of(weight))
    rows, index = _margin_parts(F, input, target)
    raw = zeros_if_storageless(index if F.raw else index._wg_data)
    if raw.shape != tuple(rows.shape[:1]):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{rows.shape[0]}], but got {list(target.shape)}. Input has shape "
            f"{list(input.shape)}."
        )
    _check_long(raw)
    if raw.size and (raw.min() < 0 or raw.max() >= rows.shape[1]):
        raise RuntimeError("target out of range")
    column = F.unsqueeze(index, 1)
    gap = margin - F.gather(rows, 1, column) + rows
    gap = F.where(gap > 0, gap, 0)
    gap = gap if p == 1 else gap * gap
    if weight is not None:
        gap = gap * F.unsqueeze(F.index_select(weight, 0, index), 1)
    others = np.arange(rows.shape[1]) != raw[:, None]
    values = F.sum(F.where(F.constant(others), gap, 0), 1) / rows.shape[1]
    return _reduce_with(F, values if input.ndim == 2 or reduction != "none" else F.reshape(values, tuple(target.shape)),
        reduction)


@composite(by_example=True, node="MultilabelMarginLossBackward0", whole=("input",))
def multilabel_margin_loss(F, input, target, size_average=None, reduce=None, reduction="mean"):
    """Margins between every listed class (the labels before the first -1) and every other one."""
    reduction = checked(legacy(size_average, reduce, reduction))
    _check_margins(input)
    labels = as_array(zeros_if_storageless(target if F.raw else target._wg_data))
    rows = input if input.ndim == 2 else F.reshape(input, (1, -1))
    labels = labels if labels.ndim == 2 else labels.reshape(1, -1)
    if labels.shape != tuple(rows.shape):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    _check_long(labels)
    if labels.size and (labels.min() < -1 or labels.max() >= rows.shape[1]):
        raise RuntimeError("argument #2 'target' is out of range")
    valid = np.cumprod(labels >= 0, axis=1).astype(bool)
    safe = np.where(valid, labels, 0)
    positive = np.zeros_like(labels, bool)
    for i in range(labels.shape[0]):
        positive[i, safe[i][valid[i]]] = True
    picked = F.gather(rows, 1, F.constant(safe))
    gap = 1 - F.unsqueeze(picked, 2) + F.unsqueeze(rows, 1)
    mask = F.constant(valid[:, :, None] & ~positive[:, None, :])
    values = F.sum(F.where(mask & (gap > 0), gap, 0), (1, 2)) / rows.shape[1]
    return _reduce_with(F, values if input.ndim == 2 else F.reshape(values, ()), reduction)


@composite
def multilabel_soft_margin_loss(F, input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Mean over the classes of the binary cross-entropies of ``sigmoid(x)``."""
    reduction = legacy(size_average, reduce, reduction)
    values = -(target * F.logsigmoid(input) + (1 - target) * F.logsigmoid(-input))
    if weight is not None:
        values = values * weight
    return _reduce_with(F, F.sum(values, -1) / input.shape[-1], reduction)
