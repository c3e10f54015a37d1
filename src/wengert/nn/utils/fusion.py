"""A batch normalization folded into the layer before it, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

from wengert.nn._tensors import ones_like, zeros_like
from wengert.nn.parameter import Parameter
from wengert.tensor import Tensor

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fold(weight: Tensor, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float, scale: Tensor | None,
        shift: Tensor | None, channel: int) -> tuple[Parameter, Parameter]:
    kinds = weight.dtype, weight.dtype if bias is None else bias.dtype
    bias = zeros_like(mean) if bias is None else bias
    scale = ones_like(mean) if scale is None else scale
    shift = zeros_like(mean) if shift is None else shift
    factor = scale * (var + eps).rsqrt()
    shape = [1] * weight.dim()
    shape[channel] = -1
    new = (weight * factor.reshape(shape)).to(dtype=kinds[0]), ((bias - mean) * factor + shift).to(dtype=kinds[1])
    return Parameter(new[0], weight.requires_grad), Parameter(new[1], bias.requires_grad)


def fuse_conv_bn_weights(conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
        bn_w: Tensor | None, bn_b: Tensor | None, transpose: bool = False) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that does the work of the two layers."""
    return _fold(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
        bn_w: Tensor, bn_b: Tensor) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer that does the work of the two layers."""
    return _fold(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _fuse(layer: Any, bn: Any, channel: int) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = _fold(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
        bn.bias, channel)
    return fused


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution (transposed with ``transpose``) that does the work of ``conv`` and ``bn``, both in evaluation.

    >>> conv, bn = torch.nn.Conv1d(2, 3, 1).eval(), torch.nn.BatchNorm1d(3).eval()
    >>> x = torch.ones(1, 2, 4)
    >>> torch.allclose(torch.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    return _fuse(conv, bn, 1 if transpose else 0)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that does the work of ``linear`` and ``bn``, both in evaluation."""
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}")
    return _fuse(linear, bn, 0)
