"""Sums of sparse tensors: every process gets the indices and values of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..functions.places import PLACES
from ..graph import no_grad
from .pickles import as_bytes, as_value, gathered

if TYPE_CHECKING:
    from ..tensor.tensor import Tensor


def sum_sparse(tensor: Tensor, group: Any) -> Tensor:
    """The sum of a sparse tensor over the processes of a group: all have the indices and values of all."""
    torch, tensor = PLACES["torch"], tensor.coalesce()
    mine = as_bytes((tensor.indices().numpy(), tensor.values().numpy()))
    parts = [as_value(data) for data in gathered(group, mine, None, "all_reduce")]
    indices = torch["cat"]([torch["from_numpy"](i) for i, _ in parts], 1)
    values = torch["cat"]([torch["from_numpy"](v) for _, v in parts])
    found: Tensor = torch["sparse_coo_tensor"](indices, values, tensor.shape).coalesce()
    return found


def all_reduce_sparse(tensor: Tensor, op: Any, group: Any) -> None:
    """Replace a sparse tensor by the sum over a group, coalesced; the only reduction of sparse tensors."""
    if str(op).rpartition(".")[2] != "SUM":
        raise RuntimeError("Sparse allreduce only works with ReduceOp.SUM")
    with no_grad():
        tensor.copy_(sum_sparse(tensor.detach(), group))
