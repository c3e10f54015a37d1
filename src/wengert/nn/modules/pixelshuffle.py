"""Channels traded for resolution."""

from __future__ import annotations

from ._declared import Declared

__all__ = ["PixelShuffle", "PixelUnshuffle"]


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
