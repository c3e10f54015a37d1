"""``torch.sparse``: functions of sparse tensors. ``torch.sparse_coo_tensor`` and ``Tensor.to_sparse`` make them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .tensor.sparse import masked_mm as _masked_mm
from .tensor.sparse import total as _total

if TYPE_CHECKING:
    from .tensor import Tensor


def mm(mat1: Tensor, mat2: Tensor) -> Any:
    """The matrix product; gradients flow to the dense operand and to the stored values.

    >>> import wengert as torch
    >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return _masked_mm(mat1, mat2)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """``beta * mat + alpha * (mat1 @ mat2)`` with a sparse ``mat1``."""
    return mat * beta + mm(mat1, mat2) * alpha


def sum(input: Tensor, dim: int | tuple[int, ...] | None = None, dtype: Any = None) -> Any:
    """The sum of a sparse tensor: over all dimensions, or over all that have coordinates, dense; otherwise sparse.

    >>> import wengert as torch
    >>> torch.sparse.sum(torch.eye(3).to_sparse())
    tensor(3.)
    """
    return _total(input, dim, dtype=dtype)


def __getattr__(name: str) -> Any:
    from ._missing import missing

    raise missing(sys.modules[__name__], name)
