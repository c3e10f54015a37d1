"""Affine and bilinear maps."""

from __future__ import annotations

import math
from typing import Any

from wengert.graph import no_grad
from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn._tensors import empty
from wengert.nn.parameter import Parameter, UninitializedParameter
from wengert.tensor import Tensor

from .lazy import LazyModuleMixin
from .module import Module, weight_and_bias

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Gives its input back; takes and ignores any arguments.

    >>> torch.nn.Identity(54, unused=True)(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


def _add_weight_and_bias(module: Any, weight: Any, bias: Any, device: Any, dtype: Any) -> None:
    """Register the two parameters by their shapes, None only reserving the name, and draw their values."""
    for name, shape in (("weight", weight), ("bias", bias)):
        param = None if shape is None else Parameter(empty(shape, device=device, dtype=dtype))
        module.register_parameter(name, param)
    module.reset_parameters()


def _init_like_linear(weight: Tensor, bias: Tensor | None) -> None:
    """Both uniform on ``±1/sqrt(fan_in)``: ``a=sqrt(5)`` makes the Kaiming bound of the weight just that."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in, _ = init._calculate_fan_in_and_fan_out(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(bias, -bound, bound)


class Linear(Module):
    """``input @ weight.T + bias``: shape (*, in_features) -> (*, out_features).

    ``weight`` is (out_features, in_features).

    >>> torch.nn.Linear(20, 30)(torch.zeros(128, 20)).shape
    torch.Size([128, 30])
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None,
            dtype: Any = None) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        _add_weight_and_bias(self, (out_features, in_features), out_features if bias else None, device, dtype)

    def reset_parameters(self) -> None:
        _init_like_linear(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        weight, bias = weight_and_bias(self)
        return F.linear(input, weight, bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """The name under which PyTorch's attention shows its output projection."""


class Bilinear(Module):
    """``x1 @ weight[k] @ x2 + bias[k]``: shapes (*, in1_features), (*, in2_features) -> (*, out_features)."""

    weight: Tensor
    bias: Tensor | None

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
            dtype: Any = None) -> None:
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        shape = (out_features, in1_features, in2_features)
        _add_weight_and_bias(self, shape, out_features if bias else None, device, dtype)

    def reset_parameters(self) -> None:
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        bound = 1 / math.sqrt(self.weight.size(1))
        for param in self.parameters():
            init.uniform_(param, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}")


class LazyLinear(LazyModuleMixin, Linear, becomes=Linear):
    """A ``Linear`` whose ``in_features`` is the last size of the first input."""

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                lazy: Any = ((self.weight, (self.out_features, self.in_features)), (self.bias, (self.out_features,)))
                for param, shape in lazy:
                    if param is not None:
                        param.materialize(shape)
                self.reset_parameters()
        if self.in_features == 0:
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(f"The in_features inferred from input: {input.shape[-1]} is not equal to "
                    f"in_features from self.weight: {self.weight.shape[-1]}")
            self.in_features = input.shape[-1]
