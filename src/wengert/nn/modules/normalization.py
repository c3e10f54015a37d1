"""Normalization within a sample: layer, group, root mean square, and across channels."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn._tensors import empty
from wengert.nn.parameter import Parameter
from wengert.tensor import Tensor

from ._declared import Declared
from .batchnorm import _reset_scale_and_shift
from .linear import _add_weight_and_bias
from .module import Module, weight_and_bias

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def _as_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (index(shape),) if hasattr(shape, "__index__") else tuple(shape)  # type: ignore[arg-type]


class LayerNorm(Module):
    """Normalize over the last dimensions, of sizes ``normalized_shape``, then scale and shift (Ba et al., 2016).

    >>> torch.nn.LayerNorm(4)(torch.rand(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    weight: Tensor | None
    bias: Tensor | None

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True,
            bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        shape = self.normalized_shape if elementwise_affine else None
        _add_weight_and_bias(self, shape, shape if bias else None, device, dtype)

    def reset_parameters(self) -> None:
        _reset_scale_and_shift(self)

    def forward(self, input: Tensor) -> Tensor:
        weight, bias = weight_and_bias(self)
        return F.layer_norm(input, self.normalized_shape, weight, bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}")


class GroupNorm(Module):
    """Normalize groups of the channels of (N, C, *), then scale and shift each channel (Wu and He, 2018)."""

    weight: Tensor | None
    bias: Tensor | None

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
            dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        shape = num_channels if affine else None
        _add_weight_and_bias(self, shape, shape if bias else None, device, dtype)

    def reset_parameters(self) -> None:
        _reset_scale_and_shift(self)

    def forward(self, input: Tensor) -> Tensor:
        weight, bias = weight_and_bias(self)
        return F.group_norm(input, self.num_groups, weight, bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}")


class RMSNorm(Module):
    """``x / sqrt(mean(x²) + eps) * weight`` over the last dimensions (Zhang and Sennrich, 2019).

    ``eps`` is the machine epsilon of the input's type unless given.
    """

    weight: Tensor | None

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True,
            device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = Parameter(empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Declared, function="local_response_norm", takes=["size", "alpha", "beta", "k"]):
    """``x / (k + alpha * mean of x² over size neighbouring channels) ** beta`` (Krizhevsky et al., 2012)."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """``LocalResponseNorm`` of images (N, C, H, W) in its older form: an even ``size`` looks at one channel fewer.

    PyTorch's never drops the first channel from the sums of the later ones; here it leaves the window as the others do.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        window = 2 * ((self.size - 1) // 2) + 1
        return F.local_response_norm(input, window, self.alpha * window / self.size, self.beta, self.k)
