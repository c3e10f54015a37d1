"""Sums of sparse tensors: every process gets the indices and values of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wengert

from ..graph import no_grad

if TYPE_CHECKING:
    from wengert import Tensor


def sum_sparse(tensor: Tensor, group: Any) -> Tensor:
    """The sum of a sparse tensor over the processes of a group: all have the indices and values of all."""
    from wengert import distributed as dist

    tensor = tensor.coalesce()
    parts: list[Any] = [None] * group.size()
    dist.all_gather_object(parts, (tensor.indices().numpy(), tensor.values().numpy()), group=group)
    indices = wengert.cat([wengert.from_numpy(i) for i, _ in parts], 1)
    values = wengert.cat([wengert.from_numpy(v) for _, v in parts])
    return wengert.sparse_coo_tensor(indices, values, tensor.shape).coalesce()


def all_reduce_sparse(tensor: Tensor, op: Any, group: Any) -> None:
    """Replace a sparse tensor by the sum over a group, coalesced; the only reduction of sparse tensors."""
    if str(op).rpartition(".")[2] != "SUM":
        raise RuntimeError("Sparse allreduce only works with ReduceOp.SUM")
    with no_grad():
        tensor.copy_(sum_sparse(tensor.detach(), group))
