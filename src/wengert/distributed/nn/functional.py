"""Collectives that gradients pass through: each has the backward that sends gradients where values came from.

The backward of a sum over ranks is a sum over ranks, of a broadcast a reduction, of a gather a scatter. All ranks run
their backward passes together, as they ran the forward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wengert as torch

from ...autograd import Function
from .. import collectives as c
from ..groups import get_rank, get_world_size, group_of
from ..types import RedOpType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...tensor.tensor import Tensor

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
    "reduce_scatter", "scatter"]

SUM = RedOpType.SUM


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of rank ``src``, on every rank."""
    return _Broadcast.apply(src, group, tensor)  # type: ignore[no-any-return]


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks on rank ``dst``; elsewhere, zeros."""
    return _Gather.apply(dst, group, tensor)  # type: ignore[no-any-return]


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """The tensor of the list of rank ``src`` that is for this rank."""
    return _Scatter.apply(src, group, *tensors)  # type: ignore[no-any-return]


def reduce(tensor: Tensor, dst: int, op: Any = SUM, group: Any = None) -> Tensor:
    """The reduction of all ranks' tensors on rank ``dst``; elsewhere, the tensor."""
    return _Reduce.apply(dst, op, group, tensor)  # type: ignore[no-any-return]


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: Any = SUM, group: Any = None) -> Tensor:
    """The reduction of all ranks' tensors for this rank, which ``output`` gives the memory for."""
    return _ReduceScatter.apply(op, group, output, *input_list)  # type: ignore[no-any-return]


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks."""
    return _AllGather.apply(group, tensor)  # type: ignore[no-any-return]


def _all_gather_base(output_tensor: Tensor, input_tensor: Tensor, group: Any = None) -> Tensor:
    return _AllGatherBase.apply(output_tensor, input_tensor, group)  # type: ignore[no-any-return]


def all_to_all(output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor],
        group: Any = None) -> tuple[Tensor, ...]:
    """What all ranks have for this one, where ``input_tensor_list`` has what this one has for them."""
    return _AllToAll.apply(group, output_tensor_list, *input_tensor_list)  # type: ignore[no-any-return]


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None,
        input_split_sizes: Sequence[int] | None = None, group: Any = None) -> Tensor:
    """``all_to_all`` of the parts of one tensor."""
    sizes = output_split_sizes, input_split_sizes
    return _AllToAllSingle.apply(group, output, *sizes, input)  # type: ignore[no-any-return]


def all_reduce(tensor: Tensor, op: Any = SUM, group: Any = None) -> Tensor:
    """The reduction of all ranks' tensors."""
    return _AllReduce.apply(op, group, tensor)  # type: ignore[no-any-return]


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group, ctx.rank = src, group, get_rank()
        tensor = tensor.clone()
        c.broadcast(tensor, src, group=group)
        return tensor

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        gx = _Reduce.apply(ctx.src, SUM, ctx.group, grad_output)
        return None, None, gx if ctx.src == ctx.rank else torch.zeros_like(gx)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.dst, ctx.group = dst, group
        parts = [torch.zeros_like(tensor) for _ in range(get_world_size(group))]
        c.gather(tensor.contiguous(), parts if get_rank() == dst else None, dst, group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grad_outputs)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        output = torch.zeros_like(tensors[0])
        c.scatter(output, list(tensors) if get_rank() == src else None, src, group=group)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad_output)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        tensor = tensor.clone()
        c.reduce(tensor, dst, op, group=group)
        return tensor

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad_output)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor, *inputs: Tensor) -> Tensor:
        ctx.group = group
        tensor = torch.empty_like(tensor)
        c.reduce_scatter(tensor, [t.contiguous() for t in inputs], op, group=group)
        return tensor

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return None, None, None, *_AllGather.apply(ctx.group, grad_output)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        parts = [torch.empty_like(tensor) for _ in range(get_world_size(group))]
        c.all_gather(parts, tensor.contiguous(), group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Any:
        mine = torch.empty_like(grad_outputs[group_of(ctx.group).rank()])
        return None, _ReduceScatter.apply(SUM, ctx.group, mine, *grad_outputs)


class _AllGatherBase(Function):
    @staticmethod
    def forward(ctx: Any, output_tensor: Tensor, input_tensor: Tensor, group: Any) -> Tensor:
        ctx.group = group
        c.all_gather_into_tensor(output_tensor, input_tensor.contiguous(), group=group)
        ctx.mark_dirty(output_tensor)
        return output_tensor

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        size = get_world_size(ctx.group)
        if grad_output.shape[0] % size:
            raise RuntimeError(f"Tensor with dimensions: {grad_output.shape} does not have first dimension divisible "
                f"by world_size: {size}")
        parts = grad_output.chunk(size)
        return None, _ReduceScatter.apply(SUM, ctx.group, torch.empty_like(parts[0]), *parts), None


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, outputs: Sequence[Tensor], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.shapes = group, [t.shape for t in tensors]
        parts = [torch.empty_like(t) for t in outputs]
        c.all_to_all(parts, [t.contiguous() for t in tensors], group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Any:
        like = [torch.empty(shape, dtype=grad_outputs[0].dtype) for shape in ctx.shapes]
        return None, None, *_AllToAll.apply(ctx.group, like, *grad_outputs)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, output: Tensor, output_split_sizes: Any, input_split_sizes: Any,
            tensor: Tensor) -> Tensor:
        ctx.group, ctx.shape = group, tensor.shape
        ctx.output_split_sizes, ctx.input_split_sizes = input_split_sizes, output_split_sizes
        result = torch.empty_like(output)
        c.all_to_all_single(result, tensor.contiguous(), output_split_sizes, input_split_sizes, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        like = torch.empty(ctx.shape, dtype=grad_output.dtype)
        return None, None, None, None, _AllToAllSingle.apply(ctx.group, like, ctx.output_split_sizes,
            ctx.input_split_sizes, grad_output.contiguous())


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.group, ctx.op = group, op
        tensor = tensor.clone()
        c.all_reduce(tensor, op, group=group)
        return tensor

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad_output)
