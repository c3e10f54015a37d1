"""Activation functions as modules. Shape (*) -> (*) unless said otherwise."""

from __future__ import annotations

import warnings
from typing import Any

from wengert.nn import functional as F
from wengert.nn import init as _init
from wengert.nn._tensors import empty
from wengert.nn.parameter import Parameter
from wengert.tensor import Tensor

from ._declared import Declared
from .attention import MultiheadAttention
from .module import Module

__all__ = ["CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "LogSoftmax", "Mish", "MultiheadAttention", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU",
    "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink",
    "Threshold"]


class Sigmoid(Declared, function="sigmoid"):
    """``1 / (1 + exp(-x))``."""


class Tanh(Declared, function="tanh"):
    """``tanh(x)``."""


class LogSigmoid(Declared, function="logsigmoid"):
    """``log(sigmoid(x))``."""


class Softsign(Declared, function="softsign"):
    """``x / (1 + |x|)``."""


class Tanhshrink(Declared, function="tanhshrink"):
    """``x - tanh(x)``."""


class _InPlace(Declared):
    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class ReLU(_InPlace, function="relu", takes=["inplace"]):
    """``max(0, x)``.

    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """


class SiLU(_InPlace, function="silu", takes=["inplace"]):
    """``x * sigmoid(x)``, also known as swish."""


class Mish(_InPlace, function="mish", takes=["inplace"]):
    """``x * tanh(softplus(x))``."""


class SELU(_InPlace, function="selu", takes=["inplace"]):
    """``scale * (max(0, x) + min(0, alpha * (exp(x) - 1)))`` with the constants of Klambauer et al. (2017)."""


class Hardsigmoid(_InPlace, function="hardsigmoid", takes=["inplace"], shows=()):
    """``clip(x / 6 + 1/2, 0, 1)``."""


class Hardswish(_InPlace, function="hardswish", takes=["inplace"], shows=()):
    """``x * clip(x / 6 + 1/2, 0, 1)``."""


class Threshold(Declared, function="threshold", takes=["threshold", "value", "inplace"]):
    """``x`` where it is greater than ``threshold``, else ``value``."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace


class RReLU(Declared, function="rrelu", takes=["lower", "upper", "training", "inplace"],
        shows=["lower", "upper", "inplace"]):
    """``x`` where positive, else ``a * x``: ``a`` is random in [lower, upper] in training, their mean otherwise."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace


class Hardtanh(Declared, function="hardtanh", takes=["min_val", "max_val", "inplace"]):
    """``clip(x, min_val, max_val)``."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
            min_value: float | None = None, max_value: float | None = None) -> None:
        super().__init__()
        for which, given in (("min", min_value), ("max", max_value)):
            if given is not None:
                warnings.warn(f"keyword argument `{which}_value` is deprecated and renamed to `{which}_val`",
                    FutureWarning, stacklevel=2)
        min_val = min_val if min_value is None else min_value
        max_val = max_val if max_value is None else max_value
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace


class ReLU6(Hardtanh, shows=["inplace"]):
    """``min(max(0, x), 6)``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class ELU(Declared, function="elu", takes=["alpha", "inplace"]):
    """``x`` where positive, else ``alpha * (exp(x) - 1)``."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace


class CELU(ELU, function="celu", takes=["alpha", "inplace"]):
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``."""


class LeakyReLU(Declared, function="leaky_relu", takes=["negative_slope", "inplace"]):
    """``x`` where positive, else ``negative_slope * x``."""

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace


class GLU(Declared, function="glu", takes=["dim"]):
    """``a * sigmoid(b)`` with ``a, b`` the halves along ``dim``, which shrinks to half its size."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim


class GELU(Declared, shows=["approximate"]):
    """``x * Phi(x)`` with the normal distribution function; ``approximate="tanh"`` is the faster form."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)


class _Shrink(Declared):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink, function="hardshrink", takes=["lambd"]):
    """``x`` where ``|x| > lambd``, else 0."""


class Softshrink(_Shrink, function="softshrink", takes=["lambd"]):
    """``x`` moved towards 0 by ``lambd``, and 0 where it would cross."""


class Softplus(Declared, function="softplus", takes=["beta", "threshold"]):
    """``log(1 + exp(beta * x)) / beta``, and ``x`` where ``beta * x > threshold``."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold


class _AlongDim(Declared):
    """A normalisation along ``dim``; without one, along PyTorch's former default (with a warning)."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim


class Softmin(_AlongDim, function="softmin", takes=["dim"]):
    """``exp(-x) / sum(exp(-x))`` along ``dim``."""


class Softmax(_AlongDim, function="softmax", takes=["dim"]):
    """``exp(x) / sum(exp(x))`` along ``dim``."""


class LogSoftmax(_AlongDim, function="log_softmax", takes=["dim"]):
    """``log(softmax(x))`` along ``dim``."""


class Softmax2d(Module):
    """Softmax over the channels of images: shape (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


class PReLU(Declared, function="prelu", takes=["weight"], shows=["num_parameters"]):
    """``x`` where positive, else ``weight * x`` with a learned slope: one, or one for each channel (dimension 1)."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _init.constant_(self.weight, self.init)
