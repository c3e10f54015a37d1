"""The doors to sparse tensors: ``torch.sparse_coo_tensor`` and the methods that dense tensors answer too.

``sparse`` itself is imported when somebody walks through one of them.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .overloads import METHODS, overload
from .types import on_cpu


@overload("torch")
def sparse_coo_tensor(indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
                      pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
                      is_coalesced: bool | None = None) -> Any:  # fmt: skip
    """A sparse tensor of ``size`` with ``values`` ``(n, ...)`` at ``indices`` ``(sparse dimensions, n)``, zero elsewhere.

    Values of a place that occurs more than once count together. Without ``size`` the smallest that holds all places;
    ``sparse_coo_tensor(size)`` stores nothing. Places outside of ``size`` raise ``RuntimeError``, unless
    ``check_invariants=False``. Gradients flow back to ``values``.

    >>> import wengert as torch
    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    from . import sparse

    on_cpu(device)
    if values is None:
        from .tensor import Tensor

        if isinstance(indices, Tensor):
            raise TypeError("sparse_coo_tensor(): argument 'size' (position 1) must be tuple of ints, not Tensor")
        if (indices is None) == (size is None):
            raise TypeError("sparse_coo_tensor() received an invalid combination of arguments")
        return sparse.empty(indices if size is None else size, dtype, requires_grad)
    return sparse.sparse_coo_tensor(
        indices, values, size, dtype, requires_grad, check_invariants is not False, bool(is_coalesced)
    )


@overload("Tensor")
def to_sparse(self: Any, sparse_dim: int | None = None, *, layout: Any = None, **more: Any) -> Any:
    """The non-zero elements as a sparse tensor; with ``sparse_dim``, the non-zero parts along the first dimensions.

    >>> import wengert as torch
    >>> torch.tensor([[0.0, 0.0], [1.0, 0.0]]).to_sparse(1)
    tensor(indices=tensor([[1]]),
           values=tensor([[1., 0.]]),
           size=(2, 2), nnz=1, layout=torch.sparse_coo)
    """
    if more or (layout is not None and layout.name != "sparse_coo"):
        raise RuntimeError(f"to_sparse: only the layout torch.sparse_coo is available, without a block size; got {layout} {more or ''}".rstrip())
    from .sparse import found

    return found(self, sparse_dim)


@overload("Tensor")
def to_sparse_coo(self: Any) -> Any:
    """The non-zero elements as a sparse tensor."""
    return self.to_sparse()


@overload("Tensor")
def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    """The tensor with all its elements in memory: a dense one is that already."""
    return self if dtype is None else self.to(dtype)


@overload("Tensor")
def sparse_dim(self: Any) -> int:
    """The number of dimensions that have coordinates: none."""
    return 0


@overload("Tensor")
def dense_dim(self: Any) -> int:
    """The number of dimensions without coordinates: all."""
    return self._data.ndim


@overload("Tensor")
def sparse_mask(self: Any, mask: Any) -> Any:
    """The elements at the places that the sparse tensor ``mask`` stores."""
    from .sparse import SparseTensor, like, sparse_taken, wrap

    if not isinstance(mask, SparseTensor):
        raise RuntimeError("sparse_mask: expected mask to be a sparse tensor")
    if self.shape != mask.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size {list(mask.shape)}")
    mask = mask.coalesce()
    return like(mask, sparse_taken(self, wrap(mask._data.indices)))


def _refused(name: str, what: str) -> Any:
    def method(self: Any) -> NoReturn:
        if name.startswith("_"):
            raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: only sparse tensors have it.")
        raise RuntimeError(f"{name} expected sparse {what}tensor layout but got Strided")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Part of sparse tensors only."
    return method


METHODS |= {n: _refused(n, "coordinate ") for n in ("indices", "coalesce", "is_coalesced", "_indices", "_values", "_nnz")}
METHODS["values"] = _refused("values", "")
