"""Two Functions of old times: a conversion, and a new shape for the same elements."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..function import Function


class Type(Function):
    """``Type.apply(tensor, dest_type)``: the tensor in another type. Deprecated, with a ``FutureWarning``:
    ``tensor.to`` does it.
    """

    @staticmethod
    def forward(ctx: Any, i: Any, dest_type: Any) -> Any:
        """The elements in the type, whose name ``dest_type`` may be."""
        warnings.warn("`torch.autograd._functions.Type` is deprecated as of PyTorch 2.1, please use "
            "`torch.tensor.to(dtype=dtype)` instead.", FutureWarning, stacklevel=2)
        ctx.given = i.dtype
        return i.type(dest_type)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        """The gradient in the old type."""
        return grad_output.type(ctx.given), None


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
                f"requested resize to {'x'.join(map(str, sizes))} ({math.prod(sizes)} elements in total), but the "
                f"given tensor has a size of {'x'.join(map(str, tensor.size()))} ({tensor.numel()} elements). "
                "autograd's resize can only change the shape of a given tensor, while preserving the number of "
                "elements. "
            )
        ctx.sizes = tensor.size()
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        """The gradient in the old shape."""
        return grad_output.contiguous().view(ctx.sizes), None
