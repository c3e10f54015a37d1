"""Convolutions and transposed convolutions over one to three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.graph import no_grad
from wengert.nn import functional as F
from wengert.nn.parameter import UninitializedParameter
from wengert.tensor import Tensor

from ._declared import Declared
from .lazy import LazyModuleMixin
from .linear import _add_weight_and_bias, _init_like_linear
from .module import weight_and_bias
from .utils import Sizes, _ntuple, _reverse_repeat_tuple, _single, _unusual

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d",
    "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Declared):
    """What all convolutions share: their settings, weights and ``repr``."""

    weight: Tensor
    bias: Tensor | None

    def __init__(self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...],
            padding: str | tuple[int, ...], dilation: tuple[int, ...], transposed: bool,
            output_padding: tuple[int, ...], groups: int, bias: bool, padding_mode: str, device: Any = None,
            dtype: Any = None) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups != 0:
                raise ValueError(f"{name} must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            modes = set(_PADDING_MODES)
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation
        self.transposed, self.output_padding = transposed, output_padding
        self.groups, self.padding_mode = groups, padding_mode
        self._reversed_padding_repeated_twice = self._padding_for_pad()
        _add_weight_and_bias(self, self._weight_shape(), out_channels if bias else None, device, dtype)

    def _weight_shape(self) -> tuple[int, ...]:
        outer, inner = self.out_channels, self.in_channels
        if self.transposed:
            outer, inner = inner, outer
        return (outer, inner // self.groups, *self.kernel_size)

    def _padding_for_pad(self) -> list[int] | tuple[int, ...]:
        """The padding as ``pad`` takes it, for the modes that the convolution itself does not have."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        if self.padding == "valid":
            return [0, 0] * len(self.kernel_size)
        totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        return [side for total in reversed(totals) for side in (total // 2, total - total // 2)]

    def reset_parameters(self) -> None:
        _init_like_linear(self.weight, self.bias)

    def extra_repr(self) -> str:
        zeros = (0,) * len(self.kernel_size)
        return (f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
            + _unusual(self, padding=zeros, dilation=(1,) * len(zeros), output_padding=zeros, groups=1)
            + (", bias=False" if self.bias is None else "") + _unusual(self, padding_mode="zeros"))


#: By dimensions; looked up at each call, so that they can be replaced.
_FUNCTIONS = ("", "conv1d", "conv2d", "conv3d")


class _Conv(_ConvNd):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1,
            padding: str | Sizes = 0, dilation: Sizes = 1, groups: int = 1, bias: bool = True,
            padding_mode: str = "zeros", device: Any = None, dtype: Any = None) -> None:
        each = _ntuple(self._dims)
        super().__init__(in_channels, out_channels, each(kernel_size), each(stride),
            padding if isinstance(padding, str) else each(padding), each(dilation), False, each(0), groups, bias,
            padding_mode, device=device, dtype=dtype)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self._dims
        return getattr(F, _FUNCTIONS[self._dims])(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        weight, bias = weight_and_bias(self)
        return self._conv_forward(input, weight, bias)


class Conv1d(_Conv, dims=1):
    """Cross-correlation over sequences: (N, C_in, L) or (C_in, L) -> (N, C_out, L_out).

    ``L_out = (L + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1``; ``padding`` may be ``"same"`` or
    ``"valid"``. ``weight`` is (out_channels, in_channels // groups, kernel_size).
    """


class Conv2d(_Conv, dims=2):
    """Cross-correlation over images: (N, C_in, H, W) or (C_in, H, W) -> (N, C_out, H_out, W_out). See ``Conv1d``.

    >>> torch.nn.Conv2d(3, 8, kernel_size=3, padding=1)(torch.zeros(1, 3, 5, 5)).shape
    torch.Size([1, 8, 5, 5])
    """


class Conv3d(_Conv, dims=3):
    """Cross-correlation over volumes: (N, C_in, D, H, W) or (C_in, D, H, W) -> (N, C_out, ...). See ``Conv1d``."""


class _ConvTransposeNd(_ConvNd):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes = 0,
            output_padding: Sizes = 0, groups: int = 1, bias: bool = True, dilation: Sizes = 1,
            padding_mode: str = "zeros", device: Any = None, dtype: Any = None) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        each = _ntuple(self._dims)
        super().__init__(in_channels, out_channels, each(kernel_size), each(stride), each(padding), each(dilation),
            True, each(output_padding), groups, bias, padding_mode, device=device, dtype=dtype)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        convolve = getattr(F, f"conv_transpose{self._dims}d")
        extra = self._output_padding(input, output_size)
        return convolve(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """What must be added at one side to reach ``output_size``."""
        if output_size is None:
            return _single(self.output_padding)
        dims = self._dims
        lead = input.dim() - dims
        size = list(output_size)
        if len(size) == lead + dims:
            size = size[lead:]
        if len(size) != dims:
            raise ValueError(f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} or "
                f"{lead + dims} elements (got {len(size)})")
        settings = zip(input.shape[lead:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in settings]  # type: ignore[operator]
        most = [low + s - 1 for low, s in zip(least, self.stride, strict=True)]
        if any(not low <= n <= high for n, low, high in zip(size, least, most, strict=True)):
            raise ValueError(f"requested an output size of {size}, but valid sizes range from {least} to {most} "
                f"(for an input of {input.size()[2:]})")
        return tuple(n - low for n, low in zip(size, least, strict=True))


class ConvTranspose1d(_ConvTransposeNd, dims=1):
    """The gradient of ``Conv1d`` with respect to its input, as a layer: (N, C_in, L) -> (N, C_out, L_out).

    ``L_out = (L - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1``. Several sizes are
    the same before a strided convolution: ``output_padding``, or ``output_size`` at the call, chooses.
    ``weight`` is (in_channels, out_channels // groups, kernel_size).
    """


class ConvTranspose2d(_ConvTransposeNd, dims=2):
    """Transposed convolution over images: (N, C_in, H, W) -> (N, C_out, H_out, W_out). See ``ConvTranspose1d``.

    >>> torch.nn.ConvTranspose2d(4, 2, 3, stride=2)(torch.zeros(1, 4, 5, 5), output_size=(12, 12)).shape
    torch.Size([1, 2, 12, 12])
    """


class ConvTranspose3d(_ConvTransposeNd, dims=3):
    """Transposed convolution over volumes: (N, C_in, D, H, W) -> (N, C_out, ...). See ``ConvTranspose1d``."""


class _LazyConvXdMixin(LazyModuleMixin):
    """A convolution whose ``in_channels`` is that of the first input."""

    weight: Any
    bias: Any

    def _begin(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        module: Any = self
        if not self.has_uninitialized_params() and module.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        if not self.has_uninitialized_params():
            return
        module: Any = self
        dims = module._dims
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}")
        module.in_channels = input.shape[-dims - 1]
        if module.in_channels % module.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        with no_grad():
            self.weight.materialize(module._weight_shape())
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()


class _LazyConv(_LazyConvXdMixin):
    def __init__(self, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes = 0,
            dilation: Sizes = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
            dtype: Any = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._begin(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(self, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes = 0,
            output_padding: Sizes = 0, groups: int = 1, bias: bool = True, dilation: Sizes = 1,
            padding_mode: str = "zeros", device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        self._begin(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d, becomes=Conv1d):
    """A ``Conv1d`` that takes ``in_channels`` from its first input."""


class LazyConv2d(_LazyConv, Conv2d, becomes=Conv2d):
    """A ``Conv2d`` that takes ``in_channels`` from its first input."""


class LazyConv3d(_LazyConv, Conv3d, becomes=Conv3d):
    """A ``Conv3d`` that takes ``in_channels`` from its first input."""


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d, becomes=ConvTranspose1d):
    """A ``ConvTranspose1d`` that takes ``in_channels`` from its first input."""


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d, becomes=ConvTranspose2d):
    """A ``ConvTranspose2d`` that takes ``in_channels`` from its first input."""


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d, becomes=ConvTranspose3d):
    """A ``ConvTranspose3d`` that takes ``in_channels`` from its first input."""
