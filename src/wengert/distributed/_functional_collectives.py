"""``torch.distributed._functional_collectives``: collectives that return new tensors.

PyTorch's results are there when they are first used. These are there at once: ``wait_tensor`` has nothing to wait for.
A group is a ``ProcessGroup``, its name, a list of ranks, a mesh, or a mesh with the number of a dimension.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wengert as torch

from ..autograd import Function
from . import collectives as c
from .device_mesh import DeviceMesh
from .groups import default_group, get_process_group_ranks, group_of, new_group
from .types import RedOpType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..tensor.tensor import Tensor
    from .group import ProcessGroup

__all__ = ["all_gather_single", "all_gather_tensor", "all_gather_tensor_autograd", "all_reduce", "all_to_all_single",
    "broadcast", "permute_tensor", "reduce_scatter_single", "reduce_scatter_tensor", "wait_tensor"]

_OPS = {"sum": RedOpType.SUM, "avg": RedOpType.AVG, "product": RedOpType.PRODUCT, "prod": RedOpType.PRODUCT,
    "min": RedOpType.MIN, "max": RedOpType.MAX, "band": RedOpType.BAND, "bor": RedOpType.BOR, "bxor": RedOpType.BXOR}
_of_ranks: dict[tuple[int, ...], Any] = {}


class AsyncCollectiveTensor(torch.Tensor):
    """What PyTorch returns before a collective has ended; here nothing is of its kind."""


def _op(op: Any) -> Any:
    return _OPS[op.lower()] if isinstance(op, str) else op


def _resolve_group(group: Any, tag: str = "") -> ProcessGroup:
    if isinstance(group, DeviceMesh):
        return group.get_group()
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    if isinstance(group, list):
        key = tuple(group)
        if key == tuple(range(default_group().size())):
            return default_group()
        if key not in _of_ranks or _of_ranks[key].group_name not in _names():
            _of_ranks[key] = new_group(list(key), use_local_synchronization=True, sort_ranks=False)
        return _of_ranks[key]  # type: ignore[no-any-return]
    return group_of(group)


def _names() -> Any:
    from .groups import _groups

    return _groups


def _resolve_group_name(group: Any, tag: str = "") -> str:
    return _resolve_group(group, tag).group_name


def _expand_group(group: Any, tag: str = "") -> tuple[str, list[int], int]:
    found = _resolve_group(group, tag)
    return tag, get_process_group_ranks(found), found.size()


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor, which is there."""
    return tensor


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """The reduction of all ranks' tensors."""
    return _AllReduce.apply(self, _op(reduceOp), _resolve_group(group, tag))  # type: ignore[no-any-return]


def all_reduce_coalesced(self: Sequence[Tensor], reduceOp: str, group: Any, tag: str = "") -> list[Tensor]:
    """The reductions of several tensors."""
    return [all_reduce(t, reduceOp, group, tag) for t in self]


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """The tensor of the rank ``src`` of the world."""
    result = self.detach().clone()
    c.broadcast(result, src, group=_resolve_group(group, tag))
    return result


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The tensors of all ranks, one after the other along a dimension."""
    return _AllGather.apply(self, gather_dim, _resolve_group(group, tag))  # type: ignore[no-any-return]


all_gather_single = all_gather_tensor_autograd = all_gather_single_autograd = all_gather_tensor


def all_gather_into_tensor_coalesced(self: Sequence[Tensor], group: Any, tag: str = "") -> list[Tensor]:
    """The same of several tensors, along their first dimensions."""
    return [all_gather_tensor(t, 0, group, tag) for t in self]


all_gather_single_coalesced = all_gather_into_tensor_coalesced


def reduce_scatter_tensor(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """This rank's part, along a dimension, of the reduction of all ranks' tensors."""
    found = _resolve_group(group, tag)
    if self.shape[scatter_dim] % found.size():
        raise AssertionError(f"input dimension {scatter_dim} ({self.shape[scatter_dim]}) must be a multiple of "
            f"group_size {found.size()}")
    return _ReduceScatter.apply(self, _op(reduceOp), scatter_dim, found)  # type: ignore[no-any-return]


reduce_scatter_single = reduce_scatter_tensor_autograd = reduce_scatter_single_autograd = reduce_scatter_tensor


def reduce_scatter_tensor_coalesced(inputs: Sequence[Tensor], reduceOp: str, scatter_dim: Sequence[int], group: Any,
        tag: str = "") -> list[Tensor]:
    """The same of several tensors."""
    return [reduce_scatter_tensor(t, reduceOp, dim, group, tag) for t, dim in zip(inputs, scatter_dim, strict=True)]


reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced


def all_to_all_single(self: Tensor, output_split_sizes: Sequence[int] | None, input_split_sizes: Sequence[int] | None,
        group: Any, tag: str = "") -> Tensor:
    """The parts of all ranks' tensors that are for this rank."""
    sizes = output_split_sizes, input_split_sizes
    return _AllToAll.apply(self, *sizes, _resolve_group(group, tag))  # type: ignore[no-any-return]


all_to_all_single_autograd = all_to_all_single


def permute_tensor(self: Tensor, src_dst: Sequence[int], group: Any, tag: str = "") -> Tensor:
    """The tensor of the rank i for which ``src_dst[i]`` is this rank."""
    found = _resolve_group(group, tag)
    send, receive = [0] * found.size(), [0] * found.size()
    for source, target in enumerate(src_dst):
        if source == found.rank():
            send[target] = self.numel()
        if target == found.rank():
            receive[source] = self.numel()
    return all_to_all_single(self.reshape(-1), receive, send, found).reshape(self.shape)


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: Any, group: ProcessGroup) -> Tensor:
        ctx.op, ctx.group = op, group
        result = tensor.clone(memory_format=torch.contiguous_format)
        c.all_reduce(result, op, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _AllReduce.apply(grad, ctx.op, ctx.group), None, None


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dim: int, group: ProcessGroup) -> Tensor:
        ctx.dim, ctx.group = dim, group
        source = tensor.contiguous()
        if tensor.dim() == 0:
            source = source.reshape(1)
        result = torch.empty((group.size() * source.shape[0], *source.shape[1:]), dtype=tensor.dtype)
        c.all_gather_into_tensor(result, source, group=group)
        return result if dim == 0 else torch.cat(result.chunk(group.size()), dim)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _ReduceScatter.apply(grad, RedOpType.SUM, ctx.dim, ctx.group), None, None


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: Any, dim: int, group: ProcessGroup) -> Tensor:
        ctx.op, ctx.dim, ctx.group = op, dim, group
        source = tensor if dim == 0 else torch.cat(tensor.chunk(group.size(), dim))
        result = torch.empty((source.shape[0] // group.size(), *source.shape[1:]), dtype=tensor.dtype)
        c.reduce_scatter_tensor(result, source.contiguous(), op, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        gathered = _AllGather.apply(grad, ctx.dim, ctx.group)
        return gathered / ctx.group.size() if ctx.op == RedOpType.AVG else gathered, None, None, None


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, output_sizes: Any, input_sizes: Any, group: ProcessGroup) -> Tensor:
        ctx.sizes, ctx.group = (input_sizes, output_sizes), group
        rows = sum(output_sizes) if output_sizes is not None else tensor.shape[0]
        result = torch.empty((rows, *tensor.shape[1:]), dtype=tensor.dtype)
        c.all_to_all_single(result, tensor.contiguous(), output_sizes, input_sizes, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _AllToAll.apply(grad, *ctx.sizes, ctx.group), None, None, None
