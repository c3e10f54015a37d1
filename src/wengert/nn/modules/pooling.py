"""Pooling: the maximum, the mean or a norm of windows, and the inverse of the maximum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.nn import functional as F
from wengert.tensor import Tensor

from ._declared import Declared
from .utils import Sizes, _ntuple, _single

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
    "MaxUnpool3d"]

_MAX = ["kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices"]


class _MaxPoolNd(Declared, shows=_MAX[:-1]):
    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
            return_indices: bool = False, ceil_mode: bool = False) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode


class MaxPool1d(_MaxPoolNd, function="max_pool1d", takes=_MAX):
    """The maximum of windows of sequences: (N, C, L) or (C, L) -> (N, C, L_out).

    ``L_out`` is as for ``Conv1d``, rounded up with ``ceil_mode``. ``return_indices`` also gives the places of the
    maxima, for ``MaxUnpool1d``.
    """


class MaxPool2d(_MaxPoolNd, function="max_pool2d", takes=_MAX):
    """The maximum of windows of images: (N, C, H, W) or (C, H, W). See ``MaxPool1d``.

    >>> torch.nn.MaxPool2d(2)(torch.arange(4.0).reshape(1, 1, 2, 2))
    tensor([[[[3.]]]])
    """


class MaxPool3d(_MaxPoolNd, function="max_pool3d", takes=_MAX):
    """The maximum of windows of volumes: (N, C, D, H, W) or (C, D, H, W). See ``MaxPool1d``."""


class _MaxUnpoolNd(Declared, shows=["kernel_size", "stride", "padding"]):
    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        each = _ntuple(self._dims)
        self.kernel_size, self.stride = each(kernel_size), each(kernel_size if stride is None else stride)
        self.padding = each(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        unpool = getattr(F, f"max_unpool{self._dims}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd, dims=1):
    """Put the maxima of ``MaxPool1d`` back to their places among zeros: ``forward(input, indices, output_size)``."""


class MaxUnpool2d(_MaxUnpoolNd, dims=2):
    """Put the maxima of ``MaxPool2d`` back to their places among zeros: ``forward(input, indices, output_size)``."""


class MaxUnpool3d(_MaxUnpoolNd, dims=3):
    """Put the maxima of ``MaxPool3d`` back to their places among zeros: ``forward(input, indices, output_size)``."""


_AVG = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]


class AvgPool1d(Declared, function="avg_pool1d", takes=_AVG, shows=_AVG[:3]):
    """The mean of windows of sequences: (N, C, L) or (C, L). ``count_include_pad``: the padding counts as zeros."""

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
            count_include_pad: bool = True) -> None:
        super().__init__()
        self.kernel_size, self.stride = _single(kernel_size), _single(kernel_size if stride is None else stride)
        self.padding = _single(padding)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad


class _AvgPoolNd(Declared, shows=_AVG[:3]):
    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
            count_include_pad: bool = True, divisor_override: int | None = None) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override


class AvgPool2d(_AvgPoolNd, function="avg_pool2d", takes=[*_AVG, "divisor_override"]):
    """The mean of windows of images, or their sum over ``divisor_override``: (N, C, H, W) or (C, H, W).

    >>> torch.nn.AvgPool2d(2)(torch.arange(4.0).reshape(1, 1, 2, 2))
    tensor([[[[1.5000]]]])
    """


class AvgPool3d(_AvgPoolNd, function="avg_pool3d", takes=[*_AVG, "divisor_override"]):
    """The mean of windows of volumes, or their sum over ``divisor_override``: (N, C, D, H, W) or (C, D, H, W)."""


class _FractionalMaxPoolNd(Declared):
    """Max pooling with windows at random places (Graham, 2014), to an output of a given size or ratio."""

    _random_samples: Tensor | None

    def __init__(self, kernel_size: Sizes, output_size: Sizes | None = None,
            output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
            _random_samples: Tensor | None = None) -> None:
        super().__init__()
        each = _ntuple(self._dims)
        self.kernel_size, self.return_indices = each(kernel_size), return_indices
        if self._dims == 3 and not all(k > 0 for k in self.kernel_size):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else each(output_size)
        self.output_ratio = None if output_ratio is None else each(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(f"FractionalMaxPool{self._dims}d requires specifying either an output size, or a pooling "
                "ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"fractional_max_pool{self._dims}d")
        return pool(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            _random_samples=self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPoolNd, dims=2):
    """Fractional max pooling of images: (N, C, H, W) -> (N, C, *output_size)."""


class FractionalMaxPool3d(_FractionalMaxPoolNd, dims=3):
    """Fractional max pooling of volumes: (N, C, D, H, W) -> (N, C, *output_size)."""


_LP = ["norm_type", "kernel_size", "stride", "ceil_mode"]


class _LPPoolNd(Declared):
    def __init__(self, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
            ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode


class LPPool1d(_LPPoolNd, function="lp_pool1d", takes=_LP):
    """``sum(x ** p) ** (1 / p)`` of windows of sequences, ``p = norm_type``: (N, C, L) or (C, L)."""


class LPPool2d(_LPPoolNd, function="lp_pool2d", takes=_LP):
    """``sum(x ** p) ** (1 / p)`` of windows of images, ``p = norm_type``: (N, C, H, W) or (C, H, W)."""


class LPPool3d(_LPPoolNd, function="lp_pool3d", takes=_LP):
    """``sum(x ** p) ** (1 / p)`` of windows of volumes, ``p = norm_type``: (N, C, D, H, W) or (C, D, H, W)."""


class _AdaptiveMaxPoolNd(Declared, shows=["output_size"]):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices


_ADAPTIVE_MAX = ["output_size", "return_indices"]


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, function="adaptive_max_pool1d", takes=_ADAPTIVE_MAX):
    """The maxima of windows that divide sequences into ``output_size``: (N, C, L) or (C, L)."""


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, function="adaptive_max_pool2d", takes=_ADAPTIVE_MAX):
    """The maxima of windows that divide images into ``output_size``; None keeps a size: (N, C, H, W) or (C, H, W)."""


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, function="adaptive_max_pool3d", takes=_ADAPTIVE_MAX):
    """The maxima of windows that divide volumes into ``output_size``; None keeps a size."""


class _AdaptiveAvgPoolNd(Declared):
    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd, function="adaptive_avg_pool1d", takes=["output_size"]):
    """The means of windows that divide sequences into ``output_size``: (N, C, L) or (C, L)."""


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd, function="adaptive_avg_pool2d", takes=["output_size"]):
    """The means of windows that divide images into ``output_size``; None keeps a size: (N, C, H, W) or (C, H, W)."""


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd, function="adaptive_avg_pool3d", takes=["output_size"]):
    """The means of windows that divide volumes into ``output_size``; None keeps a size."""
