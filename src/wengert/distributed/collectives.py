"""The collectives of ``torch.distributed`` for tensors, and messages from rank to rank.

Each checks its arguments in PyTorch's words and begins an operation of the group. Ranks in ``src`` and ``dst`` are the
world's; in ``group_src`` and ``group_dst``, the group's.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from datetime import timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any

from ..tensor.tensor import Tensor
from .errors import DistStoreError
from .group import split
from .groups import default_group, get_group_rank, group_of, outside
from .mpi import transport
from .sparse import all_reduce_sparse
from .stores import seconds
from .types import RedOpType, ReduceOp
from .work import PROGRESS, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .group import ProcessGroup

__all__ = [
    "P2POp", "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_single", "all_reduce",
    "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast", "gather",
    "irecv", "isend", "monitored_barrier", "recv", "reduce", "reduce_scatter", "reduce_scatter_single",
    "reduce_scatter_tensor", "scatter", "send", "supports_complex",
]

SUM = RedOpType.SUM


def _of_members(function: Callable[..., Any]) -> Callable[..., Any]:
    """A collective that does nothing, with a warning, on ranks outside of its group."""
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        group = kwargs.get("group")
        if group is None:
            group = next((a for a in args if type(a) is int and outside(a)), None)
        if outside(group):
            warnings.warn(f"Running {function.__name__} on global rank {default_group().rank()} which does not belong "
                "to the given group.", stacklevel=2)
            return None
        return function(*args, **kwargs)

    return call


def _tensor(value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead.")


def _tensors(value: Any, name: str) -> None:
    if not isinstance(value, (list, tuple)) or not all(isinstance(t, Tensor) for t in value):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(value)} instead.")


def _one_dtype(*parts: Any) -> None:
    first = None
    for part in parts:
        for t in part if isinstance(part, (list, tuple)) else (part,):
            if first is not None and t.dtype != first.dtype:
                raise ValueError("Invalid usage of tensors with different dtypes"
                    f"Found {first.dtype} and  {t.dtype}")
            first = t if first is None else first


def supports_complex(reduceOp: Any) -> bool:
    """Whether a reduction can be of complex tensors."""
    return (reduceOp.op if isinstance(reduceOp, ReduceOp) else reduceOp) in (SUM, RedOpType.AVG, RedOpType.PREMUL_SUM)


def _complex(name: str, tensor: Tensor, op: Any) -> None:
    if tensor.is_complex() and not supports_complex(op):
        raise ValueError(f"{name} does not support {RedOpType(int(op))} on complex tensors")


def root_of(group: ProcessGroup, rank: int | None, group_rank: int | None, name: str = "") -> int:
    """The rank in the group of a rank that is given as the world's or as the group's."""
    if (rank is None) == (group_rank is None):
        raise ValueError("Must specify global_rank or group_rank" if rank is None else
            "Can't specify both group_rank and global_rank")
    if group_rank is not None:
        found = group_rank
    elif group is default_group():
        found = int(rank or 0)
    else:
        found = get_group_rank(group, int(rank or 0))
    if not 0 <= found < group.size():
        raise RuntimeError(f"ProcessGroupMPI::{name}: invalid root rank: {found}")
    return found


@_of_members
def all_reduce(tensor: Tensor, op: Any = SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Replace the tensor of every rank by the reduction of all; with ``async_op``, give the work to wait for."""
    _tensor(tensor, "tensor")
    _complex("all_reduce", tensor, op)
    if tensor.is_sparse:
        all_reduce_sparse(tensor, op, group_of(group))
        return _joint([], async_op)
    return group_of(group).all_reduce(tensor, op, async_op)


@_of_members
def all_reduce_coalesced(tensors: Sequence[Tensor], op: Any = SUM, group: Any = None,
        async_op: bool = False) -> Any:
    """``all_reduce`` of several tensors of one dtype; with ``async_op``, give a future of them."""
    if isinstance(tensors, Tensor):
        tensors = [tensors]
    _tensors(tensors, "tensors")
    _one_dtype(tensors)
    return _future(_joint([group_of(group).all_reduce(t, op, True) for t in tensors], async_op))


@_of_members
def reduce(tensor: Tensor, dst: int | None = None, op: Any = SUM, group: Any = None, async_op: bool = False,
        group_dst: int | None = None) -> Work | None:
    """Replace the tensor of one rank by the reduction of all."""
    _tensor(tensor, "tensor")
    _complex("reduce", tensor, op)
    found = group_of(group)
    return found.reduce_to(tensor, root_of(found, dst, group_dst, "reduce"), op, async_op)


@_of_members
def broadcast(tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False,
        group_src: int | None = None) -> Work | None:
    """Replace the tensor of every rank by that of one."""
    _tensor(tensor, "tensor")
    found = group_of(group)
    return found.broadcast_from(tensor, root_of(found, src, group_src, "broadcast"), async_op)


@_of_members
def all_gather(tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the tensors of all ranks to ``tensor_list``, whose sizes may differ."""
    _tensors(tensor_list, "tensor_list")
    _tensor(tensor, "tensor")
    _one_dtype(tensor_list, tensor)
    found = group_of(group)
    if len(tensor_list) != found.size():
        raise RuntimeError("ProcessGroupMPI::allgather: invalid output tensor list at index 0 (expected length "
            f"{found.size()}, got {len(tensor_list)})")
    return found.all_gather_to(tensor_list, tensor, async_op)


@_of_members
def all_gather_coalesced(output_tensor_lists: Sequence[Sequence[Tensor]], input_tensor_list: Sequence[Tensor],
        group: Any = None, async_op: bool = False) -> Any:
    """``all_gather`` of several tensors; ``output_tensor_lists[i]`` are the tensors of rank i."""
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    for each in output_tensor_lists:
        _tensors(each, "output_tensor_lists")
    found = group_of(group)
    return _future(_joint([found.all_gather_to([outputs[i] for outputs in output_tensor_lists], t, True)
        for i, t in enumerate(input_tensor_list)], async_op))


@_of_members
def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: Any = None,
        async_op: bool = False) -> Work | None:
    """Write the tensors of all ranks into one, one after the other or stacked."""
    _tensor(input_tensor, "input_tensor")
    _tensor(output_tensor, "output_tensor")
    found = group_of(group)
    if output_tensor.dtype != input_tensor.dtype:
        raise TypeError(f"output tensor must have the same type as input tensor: {output_tensor.dtype}, "
            f"{input_tensor.dtype}")
    if output_tensor.numel() != input_tensor.numel() * found.size():
        raise ValueError("output tensor size must be equal to world_size times input tensor size")
    return found.all_gather_to([output_tensor], input_tensor, async_op, "all_gather_into_tensor")


all_gather_single = _all_gather_base = all_gather_into_tensor


@_of_members
def gather(tensor: Tensor, gather_list: Sequence[Tensor] | None = None, dst: int | None = None, group: Any = None,
        async_op: bool = False, group_dst: int | None = None) -> Work | None:
    """Write the tensors of all ranks to the ``gather_list`` of rank ``dst``, 0 if no other is named."""
    _tensor(tensor, "tensor")
    found = group_of(group)
    root = root_of(found, 0 if dst is None and group_dst is None else dst, group_dst, "gather")
    here = _is_root("gather", found, root, gather_list, tensor)
    return found.gather_to(gather_list if here and gather_list else [], tensor, root, async_op)


def _is_root(name: str, group: ProcessGroup, root: int, tensors: Any, tensor: Tensor) -> bool:
    """Whether this rank is the one that gathers or scatters. It has the tensors of all, others have none."""
    role, way = ("destination", "output") if name == "gather" else ("source", "input")
    if group.rank() != root:
        if tensors:
            raise ValueError(f"Argument ``{name}_list`` must NOT be specified on non-{role} ranks.")
        return False
    if not tensors:
        raise ValueError(f"Argument ``{name}_list`` must be specified on {role} rank.")
    _tensors(tensors, f"{name}_list")
    _one_dtype(tensor, tensors)
    if len(tensors) != group.size():
        raise RuntimeError(f"ProcessGroupMPI::{name}: Incorrect {way} list size {len(tensors)}. {way.capitalize()} "
            f"list size should be {group.size()}, same as size of the process group.")
    _one_size(tensors, tensor, name)
    return True


def _one_size(tensors: Sequence[Tensor], like: Tensor, name: str) -> None:
    for i, t in enumerate(tensors):
        if t.shape != like.shape:
            raise RuntimeError(f"ProcessGroupMPI::{name}: invalid tensor size at index {i} (expected "
                f"{tuple(like.shape)}, got {tuple(t.shape)})")


@_of_members
def scatter(tensor: Tensor, scatter_list: Sequence[Tensor] | None = None, src: int | None = None, group: Any = None,
        async_op: bool = False, group_src: int | None = None) -> Work | None:
    """Replace the tensor of rank i by the i-th in the ``scatter_list`` of rank ``src``, 0 if no other is named."""
    _tensor(tensor, "tensor")
    found = group_of(group)
    root = root_of(found, 0 if src is None and group_src is None else src, group_src, "scatter")
    here = _is_root("scatter", found, root, scatter_list, tensor)
    return found.scatter_from(tensor, scatter_list if here and scatter_list else [], root, async_op)


@_of_members
def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: Any = SUM, group: Any = None,
        async_op: bool = False) -> Work | None:
    """Replace ``output`` of rank i by the reduction of all ranks' ``input_list[i]``."""
    _tensor(output, "output")
    _tensors(input_list, "input_list")
    _one_dtype(output, input_list)
    _complex("reduce_scatter", output, op)
    found = group_of(group)
    if len(input_list) != found.size():
        raise RuntimeError(f"ProcessGroupMPI::reduce_scatter: invalid input tensor list (expected length "
            f"{found.size()}, got {len(input_list)})")
    if output.numel() != input_list[found.rank()].numel():
        raise RuntimeError("ProcessGroupMPI::reduce_scatter: the output must have the size of this rank's input")
    return found.reduce_scatter_to(output, input_list, op, async_op)


@_of_members
def reduce_scatter_tensor(output: Tensor, input: Tensor, op: Any = SUM, group: Any = None,
        async_op: bool = False) -> Work | None:
    """Replace ``output`` of rank i by the i-th part of the reduction of all ranks' ``input``."""
    _tensor(output, "output")
    _tensor(input, "input")
    _complex("reduce_scatter_tensor", output, op)
    found = group_of(group)
    if output.dtype != input.dtype:
        raise TypeError(f"input tensor must be the same type as the output tensor: {input.dtype}, {output.dtype}")
    if output.numel() * found.size() != input.numel():
        raise ValueError("input tensor must be the same size as output size times world size")
    return found.reduce_scatter_to(output, [input], op, async_op, "reduce_scatter_tensor")


reduce_scatter_single = _reduce_scatter_base = reduce_scatter_tensor


@_of_members
def all_to_all(output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None,
        async_op: bool = False) -> Work | None:
    """Replace ``output_tensor_list[j]`` of rank i by ``input_tensor_list[i]`` of rank j."""
    _tensors(output_tensor_list, "output_tensor_list")
    _tensors(input_tensor_list, "input_tensor_list")
    _one_dtype(output_tensor_list, input_tensor_list)
    found = group_of(group)
    for tensors in (output_tensor_list, input_tensor_list):
        if len(tensors) != found.size():
            raise RuntimeError(f"ProcessGroupMPI::alltoall: lists of {found.size()} tensors are needed, not of "
                f"{len(tensors)}")
    return found.all_to_all(output_tensor_list, input_tensor_list, async_op)


@_of_members
def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None,
        input_split_sizes: Sequence[int] | None = None, group: Any = None, async_op: bool = False) -> Work | None:
    """``all_to_all`` of the parts of one tensor along its first dimension, equal ones unless their sizes are given."""
    _tensor(output, "output")
    _tensor(input, "input")
    _one_dtype(output, input)
    found = group_of(group)
    outputs = split(output.detach(), output_split_sizes, found.size())
    inputs = split(input.detach(), input_split_sizes, found.size())
    return found.all_to_all(outputs, inputs, async_op, [output], "all_to_all_single")


@_of_members
def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None,
        timeout: timedelta | None = None) -> Work | None:
    """Wait until every rank of the group has come here."""
    return group_of(group).run(async_op, "barrier", transport.barrier, timeout=timeout)


@_of_members
def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """A barrier that says on rank 0 which ranks have not come in time: the first, or with ``wait_all_ranks`` all."""
    found = group_of(group)
    limit = timeout or found._timeout
    found.barriers += 1
    store, me = found.get_group_store(), found.rank()
    name = f"monitored/{found.barriers}"
    if me:
        store.set(f"{name}/{me}", "1")
        try:
            store.wait([f"{name}/all"], limit + timedelta(seconds=1))
        except RuntimeError:
            raise RuntimeError(f"Rank {me} successfully reached monitoredBarrier, but received errors while waiting "
                "for send/recv from rank 0. Please check rank 0 logs for faulty rank.") from None
        return
    end, missing = time.monotonic() + seconds(limit), []
    for rank in range(1, found.size()):
        try:
            store.wait([f"{name}/{rank}"], timedelta(seconds=max(0.0, end - time.monotonic())))
        except DistStoreError:
            missing.append(rank)
            if not wait_all_ranks:
                break
    if missing:
        names = ", ".join(str(found.ranks[rank]) for rank in missing)
        raise RuntimeError(f"[Rank {found.ranks[0]}]: Rank{'s' if len(missing) > 1 else ''} {names} failed to pass "
            f"monitoredBarrier in {round(seconds(limit) * 1000)} ms")
    store.set(f"{name}/all", "1")


# -- messages -----------------------------------------------------------------------------------------------------

def _peer(group: ProcessGroup, rank: int | None, group_rank: int | None, role: str) -> int:
    found = root_of(group, rank, group_rank, role)
    if found == group.rank():
        what = "destination" if role in ("send", "isend") else "source"
        raise ValueError(f"Invalid {what} rank: {what} rank should not be the same as the rank of the current process.")
    return found


@_of_members
def isend(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0,
        group_dst: int | None = None) -> Work | None:
    """Begin to send a tensor to a rank; it must not be changed until the work has ended."""
    _tensor(tensor, "tensor")
    found = group_of(group)
    work = found.send_to(tensor, _peer(found, dst, group_dst, "isend"), tag)
    PROGRESS.add(work)
    return work


@_of_members
def irecv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0,
        group_src: int | None = None) -> Work | None:
    """Begin to receive a tensor from a rank, or from whichever sends."""
    _tensor(tensor, "tensor")
    found = group_of(group)
    source = None if src is None and group_src is None else _peer(found, src, group_src, "irecv")
    work = found.receive_from(tensor, source, tag)
    PROGRESS.add(work)
    return work


@_of_members
def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to a rank."""
    _tensor(tensor, "tensor")
    found = group_of(group)
    found.send_to(tensor, _peer(found, dst, group_dst, "send"), tag).wait()


@_of_members
def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor from a rank, or from whichever sends; the sender's rank in the world."""
    _tensor(tensor, "tensor")
    found = group_of(group)
    source = None if src is None and group_src is None else _peer(found, src, group_src, "recv")
    work = found.receive_from(tensor, source, tag)
    work.wait()
    return found.ranks[work.source_rank()]


class P2POp:
    """One ``isend`` or ``irecv`` of a ``batch_isend_irecv``."""

    def __init__(self, op: Any, tensor: Tensor, peer: int | None = None, group: Any = None, tag: int = 0,
            group_peer: int | None = None):
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``.")
        _tensor(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = group_of(group)
        self.group_peer = _peer(self.group, peer, group_peer, op.__name__)
        self.peer = self.group.ranks[self.group_peer]

    def __repr__(self) -> str:
        me, other = default_group().rank(), self.peer
        source, target = (me, other) if self.op is isend else (other, me)
        return (f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={source}, group_dst={target},  "
            f"{self.tensor.shape}, {self.tensor.dtype})")


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin several sends and receives; the works to wait for, in their order."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type "
            "``torch.distributed.P2POp``.")
    works: list[Work] = []
    for op in p2p_op_list:
        where = {"group_dst" if op.op is isend else "group_src": op.group_peer}
        works.append(op.op(op.tensor, group=op.group, tag=op.tag, **where))
    return works


# -- several at once ----------------------------------------------------------------------------------------------

class Works(Work):
    """Several works as one."""

    def __init__(self, works: Sequence[Any]):
        super().__init__()
        self.works = list(works)
        self._done = False

    def _advance(self) -> bool:
        if not self._done and False not in [work._advance() for work in self.works]:
            self._error = next((work._error for work in self.works if work._error), None)
            self._result = [t for work in self.works for t in work._result]
            with self._lock:
                settled, self._done = self._done, True
                future = self._future
            if future is not None and not settled:
                self._settle(future)
        return self._done

    def wait(self, timeout: timedelta | None = None) -> bool:
        for work in self.works:
            work.wait(*(() if timeout is None else (timeout,)))
        return self._advance()

    synchronize = wait


def _joint(works: Sequence[Any], async_op: bool) -> Work | None:
    joint = Works([work for work in works if work is not None])
    if async_op:
        return joint
    joint.wait()
    return None


def _future(work: Work | None) -> Any:
    return None if work is None else work.get_future()


class _CoalescingManager:
    """The works of a ``_coalescing_manager``."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None) -> None:
        """Add one."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Wait for all."""
        for work in self.works:
            work.wait()


@contextlib.contextmanager
def _coalescing_manager(group: Any = None, device: Any = None, async_ops: bool = False) -> Iterator[_CoalescingManager]:
    """Collectives that are waited for together."""
    manager = _CoalescingManager()
    yield manager
    if not async_ops:
        manager.wait()
