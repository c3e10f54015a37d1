"""Making masked tensors."""

from __future__ import annotations

from typing import Any

from .core import MaskedTensor

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """``data``, of which only the elements where ``mask`` is true are there: a leaf, with a copy of the data.

    Args:
        data: a tensor without a gradient to pass on.
        mask: truth values in the shape and the layout of ``data``.
        requires_grad: whether its gradient, a MaskedTensor too, shall be computed.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> x = torch.masked.masked_tensor(torch.tensor([1.0, 2.0, 5.0]), torch.tensor([True, True, False]))
    >>> x.mean()
    MaskedTensor(  1.5000, True)
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """``data`` with a mask, as a step of the graph: gradients reach ``data``, as MaskedTensors."""
    return MaskedTensor._from_values(data, mask)
