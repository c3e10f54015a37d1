"""Elements of images rearranged, dimensions merged and split, and images resized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.nn import functional as F
from wengert.tensor import Tensor

from ._declared import Declared
from .module import Module
from .utils import Sizes

Factors = float | Sequence[float]

__all__ = ["ChannelShuffle", "Flatten", "Fold", "PixelShuffle", "PixelUnshuffle", "Unflatten", "Unfold", "Upsample",
    "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Flatten(Declared, shows=["start_dim", "end_dim"]):
    """Merge the dimensions from ``start_dim`` to ``end_dim``: by default all but the batch.

    >>> torch.nn.Flatten()(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Declared, shows=["dim", "unflattened_size"]):
    """Split the dimension ``dim`` into ``unflattened_size``, one of whose sizes may be -1."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError("unflattened_size must be a tuple of ints, but found type "
                f"{type(unflattened_size).__name__}")
        for place, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError("unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {place}")
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)


class ChannelShuffle(Declared, function="channel_shuffle", takes=["groups"]):
    """Split the channels of (N, C, *) into ``groups`` and interleave them (Zhang et al., 2018)."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups


class PixelShuffle(Declared, function="pixel_shuffle", takes=["upscale_factor"]):
    """(*, C * r², H, W) -> (*, C, H * r, W * r) (Shi et al., 2016)."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor


class PixelUnshuffle(Declared, function="pixel_unshuffle", takes=["downscale_factor"]):
    """(*, C, H * r, W * r) -> (*, C * r², H, W)."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor


_WINDOW = ["kernel_size", "dilation", "padding", "stride"]


class Unfold(Declared, function="unfold", takes=_WINDOW):
    """The windows of images as columns: (N, C, H, W) -> (N, C * kernel area, number of windows).

    >>> torch.nn.Unfold(2)(torch.zeros(1, 3, 4, 4)).shape
    torch.Size([1, 12, 9])
    """

    def __init__(self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride


class Fold(Declared, function="fold", takes=["output_size", *_WINDOW]):
    """Columns put back into images, summed where windows overlap: (N, C * kernel area, L) -> (N, C, *output_size)."""

    def __init__(self, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0,
            stride: Sizes = 1) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride


class Upsample(Module):
    """Resize (N, C, ...) to ``size`` or by ``scale_factor``.

    ``mode`` is nearest, linear (1 dimension), bilinear or bicubic (2), or trilinear (3).

    >>> torch.nn.Upsample(scale_factor=2)(torch.ones(1, 1, 2)).shape
    torch.Size([1, 1, 4])
    """

    def __init__(self, size: Sizes | None = None, scale_factor: Factors | None = None, mode: str = "nearest",
            align_corners: bool | None = None, recompute_scale_factor: bool | None = None) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        given: Any = scale_factor
        self.scale_factor = tuple(map(float, given)) if isinstance(given, tuple) else float(given) if given else None
        self.mode, self.align_corners, self.recompute_scale_factor = mode, align_corners, recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor)

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """``Upsample`` of images with ``mode="nearest"``."""

    def __init__(self, size: Sizes | None = None, scale_factor: Factors | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """``Upsample`` of images with ``mode="bilinear"`` and aligned corners."""

    def __init__(self, size: Sizes | None = None, scale_factor: Factors | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
