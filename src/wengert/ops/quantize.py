"""Rounding to the numbers that an integer type of a quantized network can hold, with a straight-through gradient.

Source: B. Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference",
2018; the gradient is that of Y. Bengio et al., "Estimating or Propagating Gradients Through Stochastic Neurons", 2013.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.array_likes import as_array
from . import views
from .operator import Array, family
from .refusals import floating

operator, composite = family("torch", promote=None)

_STRAIGHT = dict(input=lambda F, g, mask: g * mask)


def _rounded(kernel: str, input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> tuple[Any, Any]:
    """``(rounded to a multiple of the scale within the limits, whether within them)``; NaN becomes the lower limit."""
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or equal to `quant_max`.")
    if np.any((zero_point < quant_min) | (zero_point > quant_max)):
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    wide = floating(kernel, input).astype(np.float64 if input.dtype == np.float64 else np.float32, copy=False)
    with np.errstate(all="ignore"):
        steps = np.rint(wide * (np.float32(1) / scale)) + zero_point
        within = (steps >= quant_min) & (steps <= quant_max)
        kept = np.clip(np.where(np.isnan(steps), quant_min, steps), quant_min, quant_max)
        return ((kept - zero_point) * scale).astype(input.dtype), within


@operator(grad=_STRAIGHT, outputs=("result",), aux=("mask",), scalars=("scale", "zero_point"),
          node="FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0")
def fake_quantize_per_tensor_affine(input: Array, scale: Array, zero_point: Array, quant_min, quant_max):
    """Round to ``(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale``.

    The gradient passes where the rounded value lies within the limits, and is zero elsewhere.

    >>> torch.fake_quantize_per_tensor_affine(torch.tensor([-1.0, 0.26, 9.0]), 0.1, 0, 0, 15)
    tensor([0.0000, 0.3000, 1.5000])
    """
    step, zero = (as_array(scale).astype(np.float32),
        np.rint(as_array(zero_point, dtype=np.float64)).astype(np.int64))
    return _rounded("fake_quantize_tensor_cachemask_kernel_type_handling", input, step, zero, quant_min, quant_max)


def _per_channel(input: Any, scale: Any, zero_point: Any, axis: int) -> tuple[int, ...]:
    """The shape in which the channels' numbers broadcast over the input, after the checks."""
    if dt.of(scale.dtype).name not in ("float32", "bfloat16"):
        raise RuntimeError(f"Scale must be Float or BFloat16, found {dt.scalar_name(scale.dtype)}")
    if dt.of(zero_point.dtype).name not in ("int32", "float32", "float16"):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {dt.scalar_name(zero_point.dtype)}")
    if scale.ndim != 1 or zero_point.ndim != 1:
        raise RuntimeError("scale should be a 1-D tensor" if scale.ndim != 1 else "zero point should be a 1-D tensor")
    if scale.size != zero_point.size:
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    place = views.axis(axis, input.ndim)
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    if scale.size != input.shape[place]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    return (-1,) + (1,) * (input.ndim - 1 - place)


@operator(grad=_STRAIGHT, outputs=("result",), aux=("mask",), node="FakeQuantizePerChannelAffineCachemaskBackward0")
def fake_quantize_per_channel_affine(input: Array, scale: Array, zero_point: Array, axis, quant_min, quant_max):
    """``fake_quantize_per_tensor_affine`` with a scale and a zero point for each index of dimension ``axis``.

    >>> x, scale = torch.tensor([[0.26, 0.26]]), torch.tensor([0.1, 0.2])
    >>> torch.fake_quantize_per_channel_affine(x, scale, torch.zeros(2, dtype=torch.int32), 1, 0, 15)
    tensor([[0.3000, 0.2000]])
    """
    shape = _per_channel(input, scale, zero_point, axis)
    step, zero = (scale.astype(np.float32).reshape(shape),
        np.rint(zero_point.astype(np.float64)).astype(np.int64).reshape(shape))
    return _rounded("fake_quantize_channel_cachemask_cpu_type_handling", input, step, zero, quant_min, quant_max)
