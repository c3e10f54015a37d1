"""Margin losses of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.array_likes import as_array, in_rows
from ..arrays.dtypes import I64
from ..arrays.plain.margins import listed
from ..arrays.storageless import zeros_if_storageless
from .loss import Bits, checked, legacy, reduced, spread
from .operator import Array, family
from .refusals import same_width

operator, composite = family("functional")


def _margin_slope_raw(g: Any, input: Any, labels: Any, p: int, margin: float, weight: Any, reduction: str) -> Any:
    share = as_array(spread(g, reduction, input.shape[:1])).astype(input.dtype, copy=False)
    share = in_rows(np.broadcast_to(share, input.shape[:1]))
    return K.margins_grad(share, in_rows(input), labels.cell_contents, p, margin, weight.cell_contents)


@composite(raw=_margin_slope_raw, places=())
def margin_losses_grad(F, g, input, labels, p, margin, weight, reduction):
    safe, places, counts = listed(labels.cell_contents, input.shape[1], labels.cell_contents)
    gap = margin - F.unsqueeze(F.gather(input, 1, F.constant(safe)), 2) + F.unsqueeze(input, 1)
    over = gap * 2 if p == 2 else F.constant(np.ones((), F.dtype_of(input)))
    slope = F.where(F.constant(counts) & (gap > 0), over, 0)
    share = spread(g, reduction, input.shape[:1]) / input.shape[1]
    slope = slope * (F.reshape(share, (-1, 1, 1)) if share.ndim else share)
    slope = slope if weight.cell_contents is None else slope * F.constant(weight.cell_contents[safe][:, :, None])
    return F.sum(slope, 1) - F.sum(F.where(F.constant(places), F.unsqueeze(F.sum(slope, 2), 2), 0), 1)


@operator(grad=dict(input=lambda F, g, input, labels, p, margin, weight, reduction: F.margin_losses_grad(g, input,
    Bits(labels), p, margin, Bits(weight), reduction)), places=())
def margin_losses(input: Array, labels, p, margin, weight, reduction):
    """Margins between the classes that each row of ``labels``, an array, lists before a -1, and all others."""
    return reduced(K.margins(in_rows(input), labels, p, margin, weight), reduction)


def _numbers_of(F: Any, t: Any) -> Any:
    """The array of a tensor that has no gradient here."""
    return t if t is None else zeros_if_storageless(t if F.raw else t._wg_data)


def _check_margins(input: Any) -> None:
    shape = list(input.shape)
    if len(shape) > 2 or (shape and shape[-1] == 0):
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {shape}")


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
    rows = input if input.ndim == 2 else F.reshape(input, (1, -1))
    index = target if target.ndim == 1 else F.unsqueeze(target, 0)
    raw = zeros_if_storageless(index if F.raw else index._wg_data)
    if raw.shape != tuple(rows.shape[:1]):
        raise RuntimeError("multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{rows.shape[0]}], but got {list(target.shape)}. Input has "
            f"shape {list(input.shape)}.")
    same_width(I64, raw.dtype)
    if not K.within(raw, 0, rows.shape[1] - 1):
        raise RuntimeError("target out of range")
    values = F.margin_losses(rows, raw.reshape(-1, 1), p, margin, _numbers_of(F, weight), reduction)
    return values if input.ndim == 2 or reduction != "none" else F.reshape(values, tuple(target.shape))


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
    same_width(I64, labels.dtype)
    if not K.within(labels, -1, rows.shape[1] - 1):
        raise RuntimeError("argument #2 'target' is out of range")
    values = F.margin_losses(rows, labels, 1, 1.0, None, reduction)
    return values if input.ndim == 2 or reduction != "none" else F.reshape(values, ())
