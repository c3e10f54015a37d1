"""Losses: of numbers, and negative log-likelihood and cross-entropy of classes."""

from __future__ import annotations

import math
from types import CellType
from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.array_likes import FOREIGN, as_array, counted, new_filled
from ..arrays.dtypes import can_cast, default_float, is_half, promote, scalar_name
from ..arrays.errors import warn
from ..arrays.foreign import check_range
from .errors import common_shape
from .operator import Array, family
from .pointwise import widened
from .reduce import mean, total
from .refusals import floating, same_width

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


def reduced(values: Any, reduction: str) -> Any:
    checked(reduction)
    if reduction == "none":
        return values
    if reduction == "sum":
        return total(values, None)
    return mean.forward(values) if values.size or values.dtype.kind in "biu" else np.full((), np.nan, values.dtype)


def spread(g: Any, reduction: str, shape: Any) -> Any:
    """The gradient of each element, from that of their reduction."""
    return g / math.prod(shape) if reduction == "mean" else g


def _times_share(F: Any, share: Any, values: Any) -> Any:
    """``share``, the gradient of each element, times ``values``."""
    return _by_number(share, values) if F.raw else F.mul(share, values)


def _by_number(share: Any, values: Array) -> Array:
    if getattr(share, "ndim", 1) or not is_half(values.dtype):
        return share * values
    return K.multiply(values, float(share))


def reduce_with(F: Any, values: Any, reduction: str) -> Any:
    checked(reduction)
    return values if reduction == "none" else F.mean(values) if reduction == "mean" else F.sum(values)


def _mse_raw(g: Any, input: Any, target: Any, reduction: str) -> Any:
    difference = K.subtract(input, target)
    return _by_number(2.0 * spread(g, reduction, difference.shape), difference)


def _mse_twice(F: Any, g: Any, needs: Any, grad_output: Any, input: Any, target: Any, reduction: Any) -> Any:
    back = F.mse_loss_grad(g, input, target, reduction) if needs[0] else None
    slope: Any = 2.0 * spread(grad_output, reduction, g.shape) * g if needs[1] or needs[2] else None
    return back, slope, -slope if needs[2] else None


@composite(raw=_mse_raw, node="MseLossBackwardBackward0", whole=("g", "input", "target"), grad=_mse_twice, places=())
def mse_loss_grad(F, g, input, target, reduction):
    """The gradient in ``input``; in ``target`` with the two exchanged."""
    difference = input - target
    return (2.0 * spread(g, reduction, difference.shape)) * difference


@operator(
    grad=dict(input=lambda F, g, input, target, reduction: F.mse_loss_grad(g, input, target, reduction),
              target=lambda F, g, input, target, reduction: F.mse_loss_grad(g, target, input, reduction)),
    promote="elementwise", scalars="", node="MseLossBackward0", places=())
def mse_loss(input: Array, target: Array, reduction="mean"):
    if floating("mse_cpu", input).dtype.itemsize == 2:  # PyTorch rounds the difference, and the square again
        difference = K.subtract(input, target)
        return reduced(K.multiply(difference, difference), reduction)
    return reduced(K.square_difference(input, target), reduction)


def _sign_slope(F: Any, g: Any, a: Any, b: Any, reduction: str) -> Any:
    s = F.sgn(F.sub(a, b))
    return _times_share(F, spread(g, reduction, s.shape), s)


@operator(
    grad=dict(input=lambda F, g, input, target, reduction: _sign_slope(F, g, input, target, reduction),
              target=lambda F, g, input, target, reduction: _sign_slope(F, g, target, input, reduction)),
    promote="elementwise", scalars="", wirtinger=True, places=())
def l1_loss(input: Array, target: Array, reduction="mean"):
    return reduced(K.absolute(K.subtract(input, target)), reduction)


def _bent(name: str, node: str) -> None:
    """The gradient in ``input`` of a loss that is a parabola within ``delta`` of its minimum, and straight beyond."""

    def raw(g: Any, input: Any, target: Any, reduction: str, delta: float, scale: float) -> Any:
        g = as_array(spread(g, reduction, np.broadcast_shapes(input.shape, target.shape)))
        return K.bent_grad(g.astype(input.dtype, copy=False), input, target, delta, scale)

    def twice(F: Any, g: Any, needs: Any, grad_output: Any, input: Any, target: Any, reduction: Any, delta: Any,
            scale: Any) -> Any:
        back = getattr(F, name)(g, input, target, reduction, delta, scale) if needs[0] else None
        slope: Any = None
        if needs[1] or needs[2]:  # at the corner it is flat
            every = spread(grad_output, reduction, g.shape) * g * scale
            slope = F.where(F.abs(input - target) < delta, every, 0.0)
        return back, slope, -slope if needs[2] else None

    @composite(name=name, raw=raw, node=node, whole=("g", "input", "target"), grad=twice, places=())
    def bent(F, g, input, target, reduction, delta, scale):
        d = input - target
        return spread(g, reduction, d.shape) * (F.where(F.abs(d) < delta, d, F.sgn(d) * delta) * scale)


_bent("smooth_l1_loss_grad", "SmoothL1LossBackwardBackward0")
_bent("huber_loss_grad", "HuberLossBackwardBackward0")


@operator(
    grad=dict(input=lambda F, g, input, target, reduction, beta: F.smooth_l1_loss_grad(g, input, target, reduction,
        beta, 1 / beta),
              target=lambda F, g, input, target, reduction, beta: F.smooth_l1_loss_grad(g, target, input, reduction,
                  beta, 1 / beta)),
    promote="elementwise", scalars="", node="SmoothL1LossBackward0", places=())
def smooth_l1(input: Array, target: Array, reduction="mean", beta=1.0):
    return reduced(K.smooth_l1(floating("smooth_l1_cpu", input), target, beta), reduction)


@operator(
    grad=dict(
        input=lambda F, g, input, target, reduction, delta: F.huber_loss_grad(g, input, target, reduction, delta, 1.0),
        target=lambda F, g, input, target, reduction, delta: F.huber_loss_grad(g, target, input, reduction, delta,
            1.0)),
    promote="elementwise", scalars="", node="HuberLossBackward0", places=())
def huber(input: Array, target: Array, reduction="mean", delta=1.0):
    return reduced(K.huber(floating("huber_cpu", input), target, delta), reduction)


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
    return reduce_with(F, values, reduction)


_TINY = float(np.float32(1e-12))  # PyTorch's constant, rounded as it rounds it


@operator(
    grad=dict(input=lambda F, g, input, target, reduction: spread(g, reduction, input.shape) * (input - target)
            / F.clamp((1 - input) * input, min=_TINY),
        target=lambda F, g, input, reduction: spread(g, reduction, input.shape) * (F.log(1 - input) - F.log(input))),
    promote="elementwise", scalars="", places=(), node="BinaryCrossEntropyBackward0")
def bce_elements(input: Array, target: Array, reduction="none"):
    if not K.within(input, 0, 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    if not K.within(target, 0, 1):
        raise RuntimeError("all elements of target should be between 0 and 1")
    t = input.dtype.type
    low = K.maximum(K.log1p(-input), t(-100))
    return reduced((target - t(1)) * low - target * K.maximum(K.log(input), t(-100)), reduction)


@composite(node="BinaryCrossEntropyBackward0", whole=("input", "target"), fixed=("weight",))
def binary_cross_entropy(F, input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """``-(y log p + (1 - y) log(1 - p))``, its logarithms cut off at -100."""
    reduction = legacy(size_average, reduce, reduction)
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"Using a target size (torch.Size({list(target.shape)})) that is different to the input size "
            f"(torch.Size({list(input.shape)})) is deprecated. Please ensure they have the same size.")
    if F.dtype_of(input) != F.dtype_of(target):
        raise RuntimeError(f"Found dtype {scalar_name(F.dtype_of(target))} but expected "
            f"{scalar_name(F.dtype_of(input))}")
    if weight is None:
        return F.bce_elements(input, target, checked(reduction))
    return reduce_with(F, F.cast(F.bce_elements(input, target) * weight, F.dtype_of(input)), reduction)


def _weighed(F: Any, values: Any, weight: Any) -> Any:
    return values if weight is None else F.mul(values, weight)


def _bce_logit_slope(F: Any, g: Any, input: Any, target: Any, reduction: str, weight: Any, pos_weight: Any) -> Any:
    slope = F.sigmoid(input)
    if pos_weight is not None:
        positive = F.mul(pos_weight, target)
        slope = F.mul(slope, F.sub(F.add(positive, 1), target))
        target = positive
    slope = _weighed(F, F.sub(slope, target), weight)
    return _times_share(F, spread(g, reduction, input.shape), slope)


def _bce_logit_target(F: Any, g: Any, input: Any, reduction: str, weight: Any, pos_weight: Any) -> Any:
    slope = F.neg(input)
    if pos_weight is not None:
        slope = F.sub(slope, F.mul(F.sub(pos_weight, 1), F.logsigmoid(input)))
    return _times_share(F, spread(g, reduction, input.shape), _weighed(F, slope, weight))


@operator(grad=dict(input=_bce_logit_slope, target=_bce_logit_target), promote="elementwise", scalars="", places=(),
    node="BinaryCrossEntropyWithLogitsBackward0")
def bce_logit_elements(input: Array, target: Array, reduction="none", weight: Array | None = None,
        pos_weight: Array | None = None):
    """Weights broadcast to the shape of the input."""
    one, logarithm = np.ones((), target.dtype), K.log_sigmoid(input)
    if pos_weight is not None:
        logarithm = K.multiply(K.add(K.multiply(K.subtract(pos_weight, one), target), one), logarithm)
    values = K.subtract(K.multiply(K.subtract(one, target), input), logarithm)
    return reduced(values if weight is None else K.multiply(values, weight), reduction)


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
    if (all(w is None or common_shape(w.shape, input.shape) == tuple(input.shape) for w in (weight, pos_weight))
            and all(w is None or F.dtype_of(w) == F.dtype_of(input) for w in (target, weight, pos_weight))):
        return F.bce_logit_elements(input, target, checked(reduction), weight, pos_weight)
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
    return reduce_with(F, values, reduction)


def into(found: Any, wanted: Any) -> None:
    """Refuse results of type ``found`` where PyTorch writes them to a tensor of type ``wanted``."""
    if not can_cast(found, wanted):
        raise RuntimeError(f"result type {scalar_name(found)} can't be cast to the desired output type "
            f"{scalar_name(wanted)}")


@composite(node="SoftMarginLossBackward0", whole=("input",), fixed=("target",))
def soft_margin_loss(F, input, target, size_average=None, reduce=None, reduction="mean"):
    """``log(1 + exp(-y x))``."""
    if F.dtype_of(input).kind == "b":
        F.neg(input)  # which is refused
    if common_shape(input.shape, target.shape) != tuple(input.shape):
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape "
            f"{list(common_shape(input.shape, target.shape))}")
    into(promote(promote(F.dtype_of(input), F.dtype_of(target)), default_float()), F.dtype_of(input))
    return reduce_with(F, F.soft_margin_elements(input, target), legacy(size_average, reduce, reduction))


def _soft_margin_slope(F: Any, g: Any, input: Any, target: Any) -> Any:
    z = F.exp(-(input * target))
    return g * (-target * z / (z + 1))


@operator(
    grad=dict(
        input=lambda F, g, input, target: F.cast(_soft_margin_slope(F, g, input, target), F.dtype_of(input)),
        target=lambda F, g, input, target: F.sum_to(_soft_margin_slope(F, g, target, input), tuple(target.shape))),
    places=(), node="SoftMarginLossBackward0")
def soft_margin_elements(input: Array, target: Array):
    """``log(1 + exp(-target * input))``, exact where the power is small, infinite where it is."""
    return K.log1p(K.exp(K.cast(-input * target, input.dtype)))


@composite
def hinge_embedding_loss(F, input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """``x`` where ``y = 1``, ``max(0, margin - x)`` where ``y = -1``."""
    kind = F.dtype_of(input)
    zero = F.new_zeros(input, ())
    gap = F.constant(as_array(margin).astype(kind)) - input
    values = F.where(target != 1, F.clamp_min(gap, 0), zero) + F.where(target != -1, input, zero)
    return reduce_with(F, values, legacy(size_average, reduce, reduction))


@composite
def margin_ranking_loss(F, input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """``max(0, -y (x1 - x2) + margin)``."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"torch.Size({list(input1.shape)}), input2: torch.Size({list(input2.shape)}), target: "
            f"torch.Size({list(target.shape)}) ")
    return reduce_with(F, F.clamp_min(-target * (input1 - input2) + margin, 0.0),
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
    squares = (F.sum(input1 * input1, dim) + _TINY) * (F.sum(input2 * input2, dim) + _TINY)
    cos = F.sum(input1 * input2, dim) / F.sqrt(squares)
    zero = F.new_zeros(cos, ())
    values = (F.where(target == 1, F.constant(np.ones((), F.dtype_of(cos))) - cos, zero) + F.where(target == -1,
        F.clamp_min(cos - margin, 0.0), zero))
    return reduce_with(F, values, legacy(size_average, reduce, reduction))


@composite
def triplet_margin_loss(F, anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None,
        reduce=None, reduction="mean"):
    """``max(0, d(a, p) - d(a, n) + margin)``. Balntas et al., 2016."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D "
            "inputs")
    near, far = F.pairwise_distance(anchor, positive, p, eps), F.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = F.minimum(far, F.pairwise_distance(positive, negative, p, eps))
    return reduce_with(F, F.clamp_min(near + margin - far, 0.0), legacy(size_average, reduce, reduction))


@composite
def poisson_nll_loss(F, input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None,
        reduction="mean"):
    """Negative log-likelihood of Poisson counts, up to a constant (with Stirling's term if ``full``)."""
    reduction = legacy(size_average, reduce, reduction)
    values = F.exp(input) - target * input if log_input else input - target * F.log(input + eps)
    if full:
        stirling = target * F.log(target) - target + F.log(target * (2 * np.pi)) * 0.5
        values = values + F.masked_fill(stirling, target <= 1, 0)
    return reduce_with(F, values, reduction)


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
    return reduce_with(F, values, reduction)


@composite
def multilabel_soft_margin_loss(F, input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Mean over the classes of the binary cross-entropies of ``sigmoid(x)``."""
    reduction = legacy(size_average, reduce, reduction)
    values = -(target * F.logsigmoid(input) + (1 - target) * F.logsigmoid(-input))
    if weight is not None:
        values = values * weight
    return reduce_with(F, F.sum(values, -1) / input.shape[-1], reduction)


# -- classes ----------------------------------------------------------------------------------------------------------


# A constant array that a node keeps for its rule; it has no gradient. (Native forwards make such, too.)
Bits = CellType


def _by_kernel(input: Any, target: Any, weight: Any) -> bool:
    """Whether a kernel takes scores, int64 classes and their weights as they are."""
    return (K.available and type(input) not in FOREIGN and target.size and target.dtype.char == "l"
        and (weight is None or (type(weight) is np.ndarray and weight.dtype == input.dtype)))


@operator(
    grad=dict(input=lambda F, g, input, index, scale: F.nll_loss_grad(g, input, index, scale)),
    aux=("index", "scale", "total_weight"), places=(), node="NllLossBackward0",
    shows=("target", "weight", "reduction", "ignore_index"))
def nll(input: Array, target, weight, reduction, ignore_index):
    """Negative log-likelihood over class dimension 1 of ``target``, an array of class numbers without a gradient."""
    if weight is not None:
        same_width(input.dtype, weight.dtype)
    if input.dtype.char in "fd" and _by_kernel(input, target, weight):
        loss, _, index, scale, total_weight = K.class_losses(input, target, weight, ignore_index, reduction, False)
        return loss, Bits(index), Bits(scale), total_weight
    kept = target != ignore_index
    safe = np.where(kept, target, 0)
    check_range(safe, 0, input.shape[1], "Target {} is out of bounds.")
    w = kept.astype(input.dtype) if weight is None else np.where(kept, weight[safe], input.dtype.type(0))
    index = safe[:, None]
    picked = K.take_along(input, 1, index).squeeze(1)
    loss, total_weight = np.where(kept, -picked * w, input.dtype.type(0)), as_array(total(w, None))
    if reduction == "none":
        return loss, Bits(index), Bits(-w), total_weight
    loss = as_array(total(loss, None))
    if reduction == "mean":
        return loss / total_weight, Bits(index), Bits(np.where(kept, -w / total_weight, w)), total_weight
    return loss, Bits(index), Bits(-w), total_weight


def _spread_raw(g: Any, shape: Any, index: Any, scale: Any) -> Any:
    out = new_filled(scale.cell_contents, np.zeros, tuple(shape), scale.cell_contents.dtype)
    K.put_along(out, 1, index.cell_contents, (g * scale.cell_contents)[:, None])
    return out


@composite(places=(), raw=lambda g, input, index, scale: _spread_raw(g, input.shape, index, scale))
def nll_loss_grad(F, g, input, index, scale):
    return F.kept(F.nll_spread(g, tuple(input.shape), index, scale), True, input)


@operator(grad=dict(input=lambda F, g, index, scale: F.nll_pick(g, index, scale)), places=())
def nll_spread(input: Array, shape, index, scale):
    return _spread_raw(input, shape, index, scale)


@operator(grad=dict(input=lambda F, g, input_shape, index, scale: F.nll_spread(g, input_shape, index, scale)),
    places=())
def nll_pick(input: Array, index, scale):
    return K.take_along(input, 1, index.cell_contents).squeeze(1) * scale.cell_contents


def _cross_entropy_raw(g: Any, log_p: Any, index: Any, scale: Any) -> Any:
    """``(softmax - one-hot)`` times the scaled gradient, in one buffer."""
    w = np.expand_dims(widened(g) * widened(scale.cell_contents), 1)
    out = K.exp(widened(log_p))
    out = K.multiply(out, -w, out=out)
    if index.cell_contents.shape[2:] == () and out.flags.c_contiguous:
        rows = counted(out, out.shape[0])
        out[rows, index.cell_contents[:, 0]] += w[:, 0]
    else:
        K.put_along(out, 1, index.cell_contents, K.take_along(out, 1, index.cell_contents) + w)
    return K.cast(out, log_p.dtype) if is_half(log_p.dtype) else out


@composite(raw=_cross_entropy_raw, places=())
def cross_entropy_grad(F, g, log_p, index, scale):
    return F.log_softmax_grad(F.nll_loss_grad(g, log_p, index, scale), log_p, 1)


def _cross_entropy_slope(F: Any, g: Any, input: Any, log_p: Any, index: Any, scale: Any) -> Any:
    if type(log_p) is Bits:  # the logarithms of the sums over the classes, from which the kernel goes on
        if F.raw:
            slope = K.cross_entropy_grad(widened(g), scale.cell_contents, widened(input), index.cell_contents,
                log_p.cell_contents)
            return K.cast(slope, input.dtype) if is_half(input.dtype) else slope
        counts = index.cell_contents >= 0
        log_p, index, scale = None, Bits(index.cell_contents * counts), Bits(scale.cell_contents * counts.squeeze(1))
    return F.cross_entropy_grad(g, F.log_softmax(input, 1) if log_p is None else log_p, index, scale)


@operator(grad=dict(input=_cross_entropy_slope), aux=("log_p", "index", "scale"), places=(), node="NllLossBackward0",
    shows=("target", "weight", "reduction", "ignore_index"))
def cross_entropy_index(input: Array, target, weight, reduction, ignore_index):
    """Softmax and negative log-likelihood in one step: no more than one array of probabilities is kept."""
    half = is_half(input.dtype)
    if ((half and weight is None) or input.dtype.char in "fd") and input.size and _by_kernel(input, target, weight):
        loss, lse, index, scale, _ = K.class_losses(widened(input), target, weight, ignore_index, reduction, True)
        return K.cast(loss, input.dtype) if half else loss, Bits(lse), Bits(index), Bits(scale)
    log_p = K.log_softmax(input, 1)
    loss, index, scale, _ = nll.forward(log_p, target, weight, reduction, ignore_index)
    return loss, log_p, index, scale


@composite(places=())
def cross_entropy_soft(F, input, target, weight, reduction, label_smoothing):
    """Cross-entropy against class probabilities."""
    dim = 1 if input.ndim > 1 else 0
    classes = input.shape[dim]
    log_p = F.log_softmax(input, dim)
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    w = 1.0 if weight is None else F.reshape(weight, (1, -1) + (1,) * (input.ndim - 2)) if input.ndim > 1 else weight
    loss = -F.sum(log_p * target * w, dim)
    if reduction == "none":
        return loss
    total = F.sum(loss)
    return total if reduction == "sum" else total / (math.prod(input.shape) // classes)
