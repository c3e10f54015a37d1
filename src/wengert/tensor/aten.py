"""Operators that only ``torch.ops.aten`` has: no function of ``torch`` and no method of tensors calls them by name."""

from __future__ import annotations

import math
from typing import Any

from .creation import zeros
from .functions import function
from .storage import window


def convolution_backward(
    grad_output: Any, input: Any, weight: Any, bias_sizes: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int, output_mask: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
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


def new_zeros_like_features(self: Any, other: Any, *, self_num_batch_dims: int = 0) -> Any:
    """Zeros laid out in memory as ``other`` is, gaps included, once for each index of the first dimensions of ``self``."""
    batch = tuple(self.shape[:self_num_batch_dims])
    storage, offset, strides = window(other._data)
    each = storage.nbytes() // other._data.itemsize
    steps = tuple(each * math.prod(batch[i + 1 :]) for i in range(len(batch)))
    whole = zeros(each * math.prod(batch), dtype=other.dtype)
    return whole.as_strided((*batch, *other.shape), (*steps, *strides), offset)
