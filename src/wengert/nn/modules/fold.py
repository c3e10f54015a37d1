"""Sliding windows taken out of images and put back."""

from __future__ import annotations

from ._declared import Declared
from .utils import Sizes

__all__ = ["Fold", "Unfold"]

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
