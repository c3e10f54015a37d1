"""A process group: some ranks of the MPI world, with a communicator of their own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import fingerprint
from .deferred import follows
from .memory import reading, writing
from .mpi import transport
from .types import Backend, DebugLevel, RedOpType, default_pg_timeout, get_debug_level
from .work import PROGRESS, Pending, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import timedelta

    from ..tensor.tensor import Tensor
    from .mpi.transport import Begun
    from .mpi.world import Processes
    from .stores import Store

__all__ = ["ProcessGroup"]


class ProcessGroup:
    """Ranks that do operations together. Made by ``init_process_group`` and ``new_group``.

    The methods that move tensors begin an operation and give its :class:`Work`; they take lists of one tensor where
    PyTorch's do. Programs use the functions of the same purpose in ``torch.distributed``.
    """

    GLOO = MPI = "mpi"

    def __init__(self, world: Processes, comm: Any, ranks: Sequence[int], backend: str, store: Store,
            timeout: timedelta = default_pg_timeout, name: str = "", description: str = "undefined"):
        self._world, self.comm, self.ranks = world, comm, list(ranks)
        self._timeout, self._store, self._backend = timeout, store, Backend(backend)
        self.group_name, self.group_desc = name, description
        self.members = [r for r in self.ranks if r != world.rank]
        self.sequence, self.barriers, self.pid = 0, 0, os.getpid()
        self._detail_comm: Any = None
        self._follower_comm: Any = None
        self._rank, self._size = comm.Get_rank(), comm.Get_size()
        self.bound_device_id = None

    # -- what it is -----------------------------------------------------------------------------------------------

    def rank(self) -> int:
        """The rank of this process in the group."""
        return self._rank

    def size(self) -> int:
        """The number of ranks."""
        return self._size

    def name(self) -> str:
        """The name of the backend."""
        return str(self._backend)

    def get_group_store(self) -> Store:
        """The store of this group."""
        return self._store

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long operations may take."""
        self._timeout = timeout

    def _get_backend_name(self) -> str:
        return str(self._backend)

    _device_types = property(lambda self: [_cpu()])

    def _get_backend(self, device: Any = None) -> ProcessGroup:
        return self

    def _get_sequence_number_for_group(self) -> int:
        return self.sequence

    def __repr__(self) -> str:
        return f"<torch.distributed.ProcessGroup {self.group_name} of ranks {self.ranks} at {id(self):#x}>"

    # -- operations -----------------------------------------------------------------------------------------------

    def begin(self, name: str, begin: Callable[..., Begun], *args: Any, tensors: Sequence[Tensor] = (),
            result: Sequence[Tensor] = (), settle: Sequence[Callable[[], None] | None] = (), detail: str = "",
            ranks: Sequence[int] | None = None, timeout: timedelta | None = None) -> Pending:
        """Begin an operation of ``transport``. ``tensors``: what is compared under ``DETAIL``; ``settle``: what follows
        at its end; ``ranks``: the ranks that it needs, without that all.
        """
        if self.pid != os.getpid():
            raise RuntimeError(f"{name}: a process that was forked after init_process_group cannot use the group")
        limit = timeout or self._timeout
        if ranks is None:
            self.sequence += 1
            if get_debug_level() is DebugLevel.DETAIL:
                fingerprint.compare(self, name, tensors, detail, limit)
        begun = begin(self._following() if follows() else self.comm, self._world.MPI, *args)
        steps, last = [step for step in settle if step is not None], begun.finish

        def finish(statuses: Any) -> None:
            if last is not None:
                last(statuses)
            for step in steps:
                step()

        return Pending(self._world, name, begun.requests, finish if steps or last else None, result,
            self.ranks if ranks is None else ranks, limit)

    def _following(self) -> Any:
        """The communicator of what communication hooks are called back with, which runs beside other operations."""
        if self._follower_comm is None:
            self._follower_comm = self.comm.Create_group(self.comm.Get_group(), tag=1)
        return self._follower_comm

    def run(self, async_op: bool, name: str, begin: Callable[..., Begun], *args: Any, **more: Any) -> Work | None:
        """Begin an operation, and wait for it unless ``async_op``."""
        work = self.begin(name, begin, *args, **more)
        if async_op:
            PROGRESS.add(work)
            return work
        work.wait()
        return None

    def all_reduce(self, tensor: Tensor, op: Any = RedOpType.SUM, async_op: bool = False,
            timeout: timedelta | None = None) -> Work | None:
        """Every rank's ``tensor`` becomes the reduction of all."""
        array, settle = writing(tensor)
        return self.run(async_op, "all_reduce", transport.all_reduce, array, op, tensors=[tensor], result=[tensor],
            settle=[settle], detail=str(op), timeout=timeout)

    def reduce_to(self, tensor: Tensor, root: int, op: Any = RedOpType.SUM, async_op: bool = False) -> Work | None:
        """The ``tensor`` of the root becomes the reduction of all."""
        array, settle = writing(tensor) if self._rank == root else (reading(tensor), None)
        return self.run(async_op, "reduce", transport.reduce, array, op, root, tensors=[tensor], result=[tensor],
            settle=[settle], detail=f"{op} to {root}")

    def broadcast_from(self, tensor: Tensor, root: int, async_op: bool = False) -> Work | None:
        """Every rank's ``tensor`` becomes that of the root."""
        array, settle = (reading(tensor), None) if self._rank == root else writing(tensor)
        return self.run(async_op, "broadcast", transport.broadcast, array, root, tensors=[tensor], result=[tensor],
            settle=[settle], detail=f"from {root}")

    def all_gather_to(self, outputs: Sequence[Tensor], tensor: Tensor, async_op: bool = False,
            name: str = "all_gather") -> Work | None:
        """``outputs`` become the tensors of all ranks; a single output, all of them one after the other."""
        arrays, settle = _all_writing(outputs)
        return self.run(async_op, name, transport.all_gather, arrays, reading(tensor), tensors=[tensor],
            result=outputs, settle=settle)

    def gather_to(self, outputs: Sequence[Tensor], tensor: Tensor, root: int, async_op: bool = False) -> Work | None:
        """The root's ``outputs`` become the tensors of all ranks."""
        arrays, settle = _all_writing(outputs)
        return self.run(async_op, "gather", transport.gather, arrays, reading(tensor), root, tensors=[tensor],
            result=outputs, settle=settle, detail=f"to {root}")

    def scatter_from(self, tensor: Tensor, inputs: Sequence[Tensor], root: int, async_op: bool = False) -> Work | None:
        """The ``tensor`` of rank i becomes the root's ``inputs[i]``."""
        array, settle = writing(tensor)
        return self.run(async_op, "scatter", transport.scatter, array, [reading(t) for t in inputs], root,
            tensors=[tensor], result=[tensor], settle=[settle], detail=f"from {root}")

    def reduce_scatter_to(self, output: Tensor, inputs: Sequence[Tensor], op: Any = RedOpType.SUM,
            async_op: bool = False, name: str = "reduce_scatter") -> Work | None:
        """The ``output`` of rank i becomes the reduction of all ranks' ``inputs[i]``."""
        array, settle = writing(output)
        return self.run(async_op, name, transport.reduce_scatter, array, [reading(t) for t in inputs], op,
            tensors=inputs, result=[output], settle=[settle], detail=str(op))

    def all_to_all(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], async_op: bool = False,
            result: Sequence[Tensor] | None = None, name: str = "all_to_all") -> Work | None:
        """``outputs[j]`` of rank i becomes ``inputs[i]`` of rank j."""
        arrays, settle = _all_writing(outputs)
        return self.run(async_op, name, transport.all_to_all, arrays, [reading(t) for t in inputs], result=(
            outputs if result is None else result), settle=settle)

    def send_to(self, tensor: Tensor, target: int, tag: int = 0) -> Pending:
        """Send a tensor to a rank of the group."""
        return self.begin("send", transport.send, reading(tensor), target, tag, result=[tensor],
            ranks=[self.ranks[target]])

    def receive_from(self, tensor: Tensor, source: int | None, tag: int = 0) -> Pending:
        """Receive a tensor from a rank of the group, or from whichever sends."""
        array, settle = writing(tensor)
        came: list[int] = []
        work = self.begin("recv", transport.receive, array, source, tag, came.append, result=[tensor], settle=[settle,
            lambda: setattr(work, "_source", came[0])],
            ranks=self.members if source is None else [self.ranks[source]])
        return work

    # -- PyTorch's methods ----------------------------------------------------------------------------------------

    def allreduce(self, tensors: Any, opts: Any = None, timeout: timedelta | None = None) -> Work:
        """``all_reduce`` of the tensor in a list; ``opts``: options, or a reduction."""
        op = getattr(opts, "reduceOp", RedOpType.SUM if opts is None else opts)
        return self._work(self.all_reduce(_only(tensors), op, True, timeout))

    def broadcast(self, tensors: Any, opts: Any = None, root: int = 0) -> Work:
        """``broadcast`` of the tensor in a list; ``opts``: options, or the root."""
        where = root if opts is None else getattr(opts, "rootRank", opts)
        return self._work(self.broadcast_from(_only(tensors), where, True))

    def reduce(self, tensors: Any, opts: Any = None, root: int = 0, op: Any = RedOpType.SUM) -> Work:
        """``reduce`` of the tensor in a list."""
        return self._work(self.reduce_to(_only(tensors), getattr(opts, "rootRank", root),
            getattr(opts, "reduceOp", op), True))

    def allgather(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Work:
        """``all_gather`` of the tensor in a list, to the lists in a list."""
        outputs = output_tensors[0] if isinstance(output_tensors[0], (list, tuple)) else output_tensors
        return self._work(self.all_gather_to(outputs, _only(input_tensors), True))

    def _allgather_base(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:
        return self._work(self.all_gather_to([output], input, True))

    def gather(self, output_tensors: Any, input_tensors: Any, opts: Any = None, root: int = 0) -> Work:
        """``gather`` of the tensor in a list, to the lists in a list."""
        outputs = output_tensors[0] if output_tensors else []
        return self._work(self.gather_to(outputs, _only(input_tensors), getattr(opts, "rootRank", root), True))

    def scatter(self, output_tensors: Any, input_tensors: Any, opts: Any = None, root: int = 0) -> Work:
        """``scatter`` to the tensor in a list, of the lists in a list."""
        inputs = input_tensors[0] if input_tensors else []
        return self._work(self.scatter_from(_only(output_tensors), inputs, getattr(opts, "rootRank", root), True))

    def reduce_scatter(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Work:
        """``reduce_scatter`` to the tensor in a list, of the lists in a list."""
        inputs = input_tensors[0] if isinstance(input_tensors[0], (list, tuple)) else input_tensors
        op = getattr(opts, "reduceOp", RedOpType.SUM if opts is None else opts)
        return self._work(self.reduce_scatter_to(_only(output_tensors), inputs, op, True))

    def _reduce_scatter_base(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:
        return self._work(self.reduce_scatter_to(output, [input], getattr(opts, "reduceOp", RedOpType.SUM), True))

    def alltoall(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Work:
        """``all_to_all`` of two lists."""
        return self._work(self.all_to_all(output_tensors, input_tensors, True))

    def alltoall_base(self, output: Tensor, input: Tensor, output_split_sizes: Any = None,
            input_split_sizes: Any = None, opts: Any = None) -> Work:
        """``all_to_all_single``."""
        return self._work(self.all_to_all(split(output.detach(), output_split_sizes, self.size()),
            split(input.detach(), input_split_sizes, self.size()), True, [output], "all_to_all_single"))

    def barrier(self, opts: Any = None, timeout: timedelta | None = None) -> Work:
        """``barrier``."""
        return self._work(self.run(True, "barrier", transport.barrier,
            timeout=timeout or getattr(opts, "timeout", None)))

    def send(self, tensors: Any, dst: int, tag: int = 0) -> Work:
        """Send the tensor in a list."""
        return self._work(self.send_to(_only(tensors), dst, tag))

    def recv(self, tensors: Any, src: int, tag: int = 0) -> Work:
        """Receive the tensor in a list."""
        return self._work(self.receive_from(_only(tensors), src, tag))

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        """Receive the tensor in a list from whichever rank sends."""
        return self._work(self.receive_from(_only(tensors), None, tag))

    @staticmethod
    def _work(work: Work | None) -> Work:
        assert work is not None
        PROGRESS.add(work)
        return work

    def abort(self) -> None:
        """Give up all operations: the communicator is no longer used."""
        self._world.stick()

    def shutdown(self) -> None:
        """Free the communicator."""
        for comm in (self._detail_comm, self._follower_comm, self.comm):
            if comm is not None and self.pid == os.getpid() and not self._world.is_stuck:
                comm.Free()
        self._detail_comm = self._follower_comm = None


ProcessGroupGloo = ProcessGroup


def _cpu() -> Any:
    from ..tensor.types import CPU

    return CPU


def _only(tensors: Any) -> Tensor:
    return tensors[0] if isinstance(tensors, (list, tuple)) else tensors


def _all_writing(tensors: Sequence[Tensor]) -> tuple[list[Any], list[Callable[[], None] | None]]:
    pairs = [writing(t) for t in tensors]
    return [array for array, _ in pairs], [settle for _, settle in pairs]


def split(tensor: Tensor, sizes: Sequence[int] | None, count: int) -> list[Tensor]:
    """The parts of a tensor along its first dimension, equal ones unless their sizes are given."""
    if not sizes:
        if tensor.shape[0] % count:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        sizes = [tensor.shape[0] // count] * count
    if len(sizes) != count:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != tensor.shape[0]:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    return list(tensor.split(list(sizes)))
