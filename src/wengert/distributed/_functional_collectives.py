"""``torch.distributed._functional_collectives``: collectives that return new tensors.

The results are on their way: ``AsyncCollectiveTensor``, which waits when it is first used, or in ``wait_tensor``. Those
that a gradient passes through, and those along another dimension than the first, are there at once. A group is a
``ProcessGroup``, its name, a list of ranks, a mesh, or a mesh with the number of a dimension.
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


_VIEWS = frozenset(("alias", "as_strided", "detach", "diagonal", "expand", "narrow", "permute", "select", "slice",
    "squeeze", "t", "transpose", "unsqueeze", "view"))


class AsyncCollectiveTensor(torch.Tensor):
    """The result of a collective that has begun. An operator on it waits first, but for one that makes a view.

    >>> from wengert.distributed._functional_collectives import AsyncCollectiveTensor, wait_tensor
    >>> isinstance(wait_tensor(torch.ones(2)), AsyncCollectiveTensor)
    False
    """

    __slots__ = ("_work", "elem")
    elem: Any
    _work: Any

    @staticmethod
    def __new__(cls: Any, elem: Any, work: Any = None) -> Any:
        made = torch.Tensor._make_wrapper_subclass(cls, elem.shape, strides=elem.stride(),
            storage_offset=elem.storage_offset(), dtype=elem.dtype, device=elem.device)
        made.elem, made._work = elem, work
        return made

    def __init__(self, elem: Any, work: Any = None) -> None:
        pass

    @property
    def completed(self) -> bool:
        """Whether it has been waited for."""
        return self._work is None

    def trigger_wait(self) -> Any:
        """The plain tensor, when its numbers have come."""
        work, self._work = self._work, None
        if work is not None:
            work.wait()
        return self.elem

    wait = trigger_wait

    def tolist(self) -> Any:
        return self.trigger_wait().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        return self.trigger_wait().numpy(force=force)

    def __repr__(self) -> str:  # type: ignore[override]
        return f"AsyncCollectiveTensor({self.trigger_wait()})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.trigger_wait().__reduce_ex__(protocol)

    def __tensor_flatten__(self) -> Any:
        return ["elem"], None

    @staticmethod
    def __tensor_unflatten__(inner: Any, meta: Any, size: Any, stride: Any) -> Any:
        return AsyncCollectiveTensor(inner["elem"])

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._opname in _VIEWS and type(args[0]) is cls and args[0]._work is not None:
            return cls(func(args[0].elem, *args[1:], **kwargs or {}), args[0]._work)
        return func(*_waited(args), **_waited(kwargs or {}))


def _waited(v: Any) -> Any:
    """Arguments with plain tensors in the place of those on their way."""
    if isinstance(v, AsyncCollectiveTensor):
        return v.trigger_wait()
    if isinstance(v, dict):
        return {k: _waited(x) for k, x in v.items()}
    return type(v)(_waited(x) for x in v) if type(v) in (list, tuple) else v


def _on_its_way(result: Tensor, work: Any) -> Tensor:
    return result if work is None else AsyncCollectiveTensor(result, work)


def _differentiated(tensor: Tensor) -> bool:
    return tensor.requires_grad and torch.is_grad_enabled()


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
    """The plain tensor, when its numbers have come."""
    return tensor.trigger_wait() if isinstance(tensor, AsyncCollectiveTensor) else tensor


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """The reduction of all ranks' tensors."""
    found, self = _resolve_group(group, tag), wait_tensor(self)
    if _differentiated(self):
        return _AllReduce.apply(self, _op(reduceOp), found)  # type: ignore[no-any-return]
    result = self.detach().clone(memory_format=torch.contiguous_format)
    return _on_its_way(result, c.all_reduce(result, _op(reduceOp), group=found, async_op=True))


def all_reduce_coalesced(self: Sequence[Tensor], reduceOp: str, group: Any, tag: str = "") -> list[Tensor]:
    """The reductions of several tensors."""
    return [all_reduce(t, reduceOp, group, tag) for t in self]


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """The tensor of the rank ``src`` of the world."""
    result = wait_tensor(self).detach().clone()
    return _on_its_way(result, c.broadcast(result, src, group=_resolve_group(group, tag), async_op=True))


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The tensors of all ranks, one after the other along a dimension."""
    found, self = _resolve_group(group, tag), wait_tensor(self)
    if _differentiated(self) or gather_dim != 0:
        return _AllGather.apply(self, gather_dim, found)  # type: ignore[no-any-return]
    return _on_its_way(*_gather(self.detach(), found, True))


def _gather(tensor: Tensor, group: ProcessGroup, async_op: bool) -> tuple[Tensor, Any]:
    source = tensor.contiguous() if tensor.dim() else tensor.reshape(1)
    result = torch.empty((group.size() * source.shape[0], *source.shape[1:]), dtype=tensor.dtype)
    return result, c.all_gather_into_tensor(result, source, group=group, async_op=async_op)


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
    self = wait_tensor(self)
    if _differentiated(self):
        return _ReduceScatter.apply(self, _op(reduceOp), scatter_dim, found)  # type: ignore[no-any-return]
    return _on_its_way(*_scatter(self.detach(), _op(reduceOp), scatter_dim, found, True))


def _scatter(tensor: Tensor, op: Any, dim: int, group: ProcessGroup, async_op: bool) -> tuple[Tensor, Any]:
    source = tensor if dim == 0 else torch.cat(tensor.chunk(group.size(), dim))
    result = torch.empty((source.shape[0] // group.size(), *source.shape[1:]), dtype=tensor.dtype)
    return result, c.reduce_scatter_tensor(result, source.contiguous(), op, group=group, async_op=async_op)


reduce_scatter_single = reduce_scatter_tensor_autograd = reduce_scatter_single_autograd = reduce_scatter_tensor


def reduce_scatter_tensor_coalesced(inputs: Sequence[Tensor], reduceOp: str, scatter_dim: Sequence[int], group: Any,
        tag: str = "") -> list[Tensor]:
    """The same of several tensors."""
    return [reduce_scatter_tensor(t, reduceOp, dim, group, tag) for t, dim in zip(inputs, scatter_dim, strict=True)]


reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced


def all_to_all_single(self: Tensor, output_split_sizes: Sequence[int] | None, input_split_sizes: Sequence[int] | None,
        group: Any, tag: str = "") -> Tensor:
    """The parts of all ranks' tensors that are for this rank."""
    sizes, found, self = (output_split_sizes, input_split_sizes), _resolve_group(group, tag), wait_tensor(self)
    if _differentiated(self):
        return _AllToAll.apply(self, *sizes, found)  # type: ignore[no-any-return]
    return _on_its_way(*_exchange(self.detach(), *sizes, found, True))


def _exchange(tensor: Tensor, output_sizes: Any, input_sizes: Any, group: ProcessGroup,
        async_op: bool) -> tuple[Tensor, Any]:
    rows = sum(output_sizes) if output_sizes is not None else tensor.shape[0]
    result = torch.empty((rows, *tensor.shape[1:]), dtype=tensor.dtype)
    return result, c.all_to_all_single(result, tensor.contiguous(), output_sizes, input_sizes, group=group,
        async_op=async_op)


all_to_all_single_autograd = all_to_all_single


def permute_tensor(self: Tensor, src_dst: Sequence[int], group: Any, tag: str = "") -> Tensor:
    """The tensor of the rank i for which ``src_dst[i]`` is this rank."""
    found, self = _resolve_group(group, tag), wait_tensor(self)
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
        result, _ = _gather(tensor, group, False)
        return result if dim == 0 else torch.cat(result.chunk(group.size()), dim)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _ReduceScatter.apply(grad, RedOpType.SUM, ctx.dim, ctx.group), None, None


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: Any, dim: int, group: ProcessGroup) -> Tensor:
        ctx.op, ctx.dim, ctx.group = op, dim, group
        return _scatter(tensor, op, dim, group, False)[0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        gathered = _AllGather.apply(grad, ctx.dim, ctx.group)
        return gathered / ctx.group.size() if ctx.op == RedOpType.AVG else gathered, None, None, None


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, output_sizes: Any, input_sizes: Any, group: ProcessGroup) -> Tensor:
        ctx.sizes, ctx.group = (input_sizes, output_sizes), group
        return _exchange(tensor, output_sizes, input_sizes, group, False)[0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _AllToAll.apply(grad, *ctx.sizes, ctx.group), None, None, None
