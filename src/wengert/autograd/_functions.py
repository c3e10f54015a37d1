"""``torch.autograd._functions``: the one Function that PyTorch itself writes in Python."""

from __future__ import annotations

import math
from typing import Any

from .function import Function


class Resize(Function):
    """``Resize.apply(tensor, sizes)``: the tensor with another shape of as many elements."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, sizes: tuple[int, ...]) -> Any:
        """The elements in order, in the new shape.

        Raises:
            RuntimeError: ``sizes`` has another number of elements.
        """
        if math.prod(sizes) != tensor.numel():
            raise RuntimeError(
                f"requested resize to {'x'.join(map(str, sizes))} ({math.prod(sizes)} elements in total), but the given tensor has a size of "
                f"{'x'.join(map(str, tensor.size()))} ({tensor.numel()} elements). autograd's resize can only change the shape of a given tensor, "
                "while preserving the number of elements. "
            )
        ctx.sizes = tensor.size()
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        """The gradient in the old shape."""
        return grad_output.contiguous().view(ctx.sizes), None
