"""Resizing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.nn import functional as F
from wengert.tensor import Tensor

from .module import Module
from .utils import Sizes

Factors = float | Sequence[float]

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


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
        self.scale_factor: Any
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None  # type: ignore[arg-type]
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
