"""Negative log-likelihood and cross-entropy: the losses of classes, by their numbers or probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.array_likes import as_array
from .operator import Array, family
from .reduce import total
from .refusals import same_width

operator, composite = family("functional")


class Bits:
    """A constant array that a node keeps for its rule; it has no gradient."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


def _nll_parts(x: Any, target: Any, weight: Any, ignore_index: int) -> tuple[Any, Any, Any]:
    """``(index with its class dimension, per-element weight, kept mask)`` of a target of class numbers."""
    classes = x.shape[1]
    if weight is not None:
        same_width(x.dtype, weight.dtype)
    kept = target != ignore_index
    safe = np.where(kept, target, 0)
    if safe.size and (safe.min() < 0 or safe.max() >= classes):
        bad = int(safe.min() if safe.min() < 0 else safe.max())
        raise IndexError(f"Target {bad} is out of bounds.")
    w = kept.astype(x.dtype) if weight is None else np.where(kept, weight[safe], x.dtype.type(0))
    return np.expand_dims(safe, 1), w, kept


@operator(
    grad=dict(input=lambda F, g, input, index, scale: F.nll_loss_grad(g, input, index, scale)),
    aux=("index", "scale", "total_weight"), places=(), node="NllLossBackward0",
    shows=("target", "weight", "reduction", "ignore_index"),
)
def nll(input: Array, target, weight, reduction, ignore_index):
    """Negative log-likelihood over class dimension 1; ``target`` holds class numbers (an array,
    never differentiated).
    """
    index, w, kept = _nll_parts(input, target, weight, ignore_index)
    picked = K.take_along(input, 1, index).squeeze(1)
    loss = np.where(kept, -picked * w, input.dtype.type(0))
    denominator = as_array(total(w, None))
    if reduction == "none":
        return loss, Bits(index), Bits(-w), denominator
    loss = as_array(total(loss, None))
    if reduction == "mean":
        return loss / denominator, Bits(index), Bits(np.where(kept, -w / denominator, w)), denominator
    return loss, Bits(index), Bits(-w), denominator


def _spread_raw(g: Any, shape: Any, index: Any, scale: Any) -> Any:
    out = np.zeros(shape, scale.array.dtype)
    K.put_along(out, 1, index.array, np.expand_dims(g * scale.array, 1))
    return out


@composite(places=(), raw=lambda g, input, index, scale: _spread_raw(g, input.shape, index, scale))
def nll_loss_grad(F, g, input, index, scale):
    return F.kept(F.nll_spread(g, tuple(input.shape), index, scale), True, input)


@operator(
    grad=dict(input=lambda F, g, index, scale: F.nll_pick(g, index, scale)),
    places=(),
)
def nll_spread(input: Array, shape, index, scale):
    return _spread_raw(input, shape, index, scale)


@operator(grad=dict(input=lambda F, g, input_shape, index, scale: F.nll_spread(g, input_shape, index, scale)),
    places=())
def nll_pick(input: Array, index, scale):
    return K.take_along(input, 1, index.array).squeeze(1) * scale.array


def _cross_entropy_raw(g: Any, log_p: Any, index: Any, scale: Any) -> Any:
    """``(softmax - one-hot)`` times the scaled gradient, in one buffer."""
    w = np.expand_dims(g * scale.array, 1)
    out = np.exp(log_p)
    out *= -w
    if index.array.shape[2:] == () and out.flags.c_contiguous:
        rows = np.arange(out.shape[0])
        out[rows, index.array[:, 0]] += w[:, 0]
    else:
        K.put_along(out, 1, index.array, K.take_along(out, 1, index.array) + w)
    return out.astype(log_p.dtype, copy=False)


@composite(raw=_cross_entropy_raw, places=())
def cross_entropy_grad(F, g, log_p, index, scale):
    return F.log_softmax_grad(F.nll_loss_grad(g, log_p, index, scale), log_p, 1)


def _cross_entropy_slope(F: Any, g: Any, input: Any, log_p: Any, index: Any, scale: Any) -> Any:
    if type(log_p) is Bits:  # the logarithm of each row's sum, from which the kernel goes on
        if F.raw:
            return K.cross_entropy_grad(-g * scale.array, input, index.array[:, 0], log_p.array)
        log_p = None
    return F.cross_entropy_grad(g, F.log_softmax(input, 1) if log_p is None else log_p, index, scale)


def _cross_entropy_rows(input: Any, target: Any, reduction: str) -> Any:
    """``cross_entropy_index`` for rows of classes that all count, without an array of probabilities."""
    rows, lse = K.cross_entropy(input, target)
    if reduction == "none":
        return rows, Bits(lse), Bits(target[:, None].copy()), Bits(np.full(len(rows), -1, rows.dtype))
    mean = reduction == "mean"
    weight = -1 / len(rows) if mean else -1
    return ((K.mean if mean else K.sum)(rows, None, False), Bits(lse), Bits(target[:, None].copy()),
        Bits(np.full(len(rows), weight, rows.dtype)))


@operator(
    grad=dict(input=_cross_entropy_slope),
    aux=("log_p", "index", "scale"), places=(), node="NllLossBackward0",
    shows=("target", "weight", "reduction", "ignore_index"),
)
def cross_entropy_index(input: Array, target, weight, reduction, ignore_index):
    """Softmax and negative log-likelihood in one step: no more than one array of probabilities is kept."""
    native = K.available and input.ndim == 2 and input.dtype.char in "fd" and target.dtype.char == "l"
    if native and weight is None and ignore_index < 0 and target.size and target.min() >= 0:
        return _cross_entropy_rows(input, target, reduction)
    log_p = K.log_softmax(input, 1)
    index, w, kept = _nll_parts(input, target, weight, ignore_index)
    picked = K.take_along(log_p, 1, index).squeeze(1)
    loss = np.where(kept, -picked * w, input.dtype.type(0))
    if reduction == "none":
        return loss, log_p, Bits(index), Bits(-w)
    loss = as_array(total(loss, None))
    if reduction == "mean":
        denominator = total(w, None)
        return loss / denominator, log_p, Bits(index), Bits(np.where(kept, -w / denominator, w))
    return loss, log_p, Bits(index), Bits(-w)


@composite(places=())
def cross_entropy_soft(F, input, target, weight, reduction, label_smoothing):
    """Cross-entropy against class probabilities."""
    classes = input.shape[1] if input.ndim > 1 else input.shape[0]
    dim = 1 if input.ndim > 1 else 0
    log_p = F.log_softmax(input, dim)
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    w = 1.0 if weight is None else F.reshape(weight, (1, -1) + (1,) * (input.ndim - 2)) if input.ndim > 1 else weight
    loss = -F.sum(log_p * target * w, dim)
    if reduction == "none":
        return loss
    total = F.sum(loss)
    return total if reduction == "sum" else total / (math.prod(input.shape) // classes)
