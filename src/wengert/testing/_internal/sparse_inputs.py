"""Sparse tensors for tests."""

from __future__ import annotations

from typing import Any

from ...tensor.creation import tensor
from ...tensor.surface import PLACES
from ..creation import make_tensor


class SparseInputs:
    """What a ``TestCase`` makes sparse tensors with."""

    def genSparseTensor(
        self, size: Any, sparse_dim: int, nnz: int, is_uncoalesced: bool, device: Any = None, dtype: Any = None
    ) -> tuple[Any, Any, Any]:  # fmt: skip
        """A random tensor with ``nnz`` entries in its first ``sparse_dim`` dimensions, its indices and its values.

        ``is_uncoalesced``: some indices are there twice, and ``nnz // 2`` and ``nnz - nnz // 2`` entries of them.
        """
        torch = PLACES["torch"]
        if nnz and not all(n > 0 for n in size[:sparse_dim]):
            raise AssertionError("invalid arguments")
        values = make_tensor([nnz, *size[sparse_dim:]], device="cpu", dtype=dtype, low=-1, high=1)
        indices = torch["rand"](sparse_dim, nnz)
        indices = (indices * tensor(list(size[:sparse_dim])).unsqueeze(1).to(indices)).long()
        if is_uncoalesced:
            indices = torch["cat"]([indices[:, : nnz // 2], indices[:, : (nnz + 1) // 2]], 1)
        made = torch["sparse_coo_tensor"](indices, values, tuple(size), dtype=dtype)
        made = made.detach().clone()._coalesced_(False) if is_uncoalesced else made.coalesce()
        return made, made._indices().clone(), made._values().clone()

    @staticmethod
    def safeToDense(t: Any) -> Any:
        """The tensor, dense."""
        return (t.coalesce() if t.is_sparse else t).to_dense()
