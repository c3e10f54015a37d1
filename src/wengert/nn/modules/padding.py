"""Padding layers. ``padding`` is one number for all sides, or (left, right[, top, bottom[, front, back]])."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.nn import functional as F
from wengert.tensor import Tensor

from ._declared import Declared
from .utils import _ntuple

__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
    "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]


class _PadNd(Declared):
    _mode = ""

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd, dims=1):
    """Put ``value`` around sequences: (..., L)."""


class ConstantPad2d(_ConstantPadNd, dims=2):
    """Put ``value`` around images: (..., H, W)."""


class ConstantPad3d(_ConstantPadNd, dims=3):
    """Put ``value`` around volumes: (..., D, H, W)."""


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _PadNd.extra_repr


class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """Put zeros around sequences."""


class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """Put zeros around images.

    >>> torch.nn.ZeroPad2d((1, 0, 0, 0))(torch.ones(1, 1, 1, 2))
    tensor([[[[0., 1., 1.]]]])
    """


class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """Put zeros around volumes."""


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd, dims=1):
    """Mirror sequences at their ends, the end itself not repeated."""


class ReflectionPad2d(_ReflectionPadNd, dims=2):
    """Mirror images at their edges, the edge itself not repeated."""


class ReflectionPad3d(_ReflectionPadNd, dims=3):
    """Mirror volumes at their faces, the face itself not repeated."""


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd, dims=1):
    """Repeat the ends of sequences."""


class ReplicationPad2d(_ReplicationPadNd, dims=2):
    """Repeat the edges of images."""


class ReplicationPad3d(_ReplicationPadNd, dims=3):
    """Repeat the faces of volumes."""


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        low, high = self._dims + 1, self._dims + 2
        if input.dim() not in (low, high):
            raise ValueError(f"expected {low}D or {high}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd, dims=1):
    """Continue sequences periodically: (C, L) or (N, C, L)."""


class CircularPad2d(_CircularPadNd, dims=2):
    """Continue images periodically: (C, H, W) or (N, C, H, W)."""


class CircularPad3d(_CircularPadNd, dims=3):
    """Continue volumes periodically: (C, D, H, W) or (N, C, D, H, W)."""
