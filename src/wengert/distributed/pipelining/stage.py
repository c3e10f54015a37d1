"""A stage: a part of a model in one process; activations come from the stage before, gradients from the next."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from ... import distributed as dist
from ...autograd import backward
from ...functions.creation import empty_strided
from ...tensor import Tensor
from ..fsdp import FSDPModule

__all__ = ["PipelineStage", "build_stage"]


def _row(v: Any) -> tuple[Any, ...]:
    return v if type(v) is tuple else tuple(v) if type(v) is list else (v,)


class PipelineStage:
    """Stage ``stage_index`` of ``num_stages``: ``submodule``, on this process of ``group``.

    Stages go to the processes of the group in turn. Shapes of activations need not be given: the first piece of a batch
    brings them.

    >>> from wengert.distributed.pipelining import PipelineStage
    >>> callable(PipelineStage)
    True
    """

    def __init__(self, submodule: Any, stage_index: int, num_stages: int, device: Any = None, input_args: Any = None,
            output_args: Any = None, group: Any = None, dw_builder: Any = None, **_: Any) -> None:
        if stage_index >= num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.submod, self.stage_index, self.num_stages, self.device = submodule, stage_index, num_stages, device
        self.group, self.group_rank, self.group_size = group, dist.get_rank(group), dist.get_world_size(group)
        if self.group_size > num_stages:
            raise RuntimeError(f"Pipeline group size {self.group_size} cannot be larger than number of stages "
                f"{num_stages}")
        self.stage_index_to_group_rank = {i: i % self.group_size for i in range(num_stages)}
        self.has_backward = False
        self.kept: dict[int, tuple[Any, Any]] = {}  # inputs and outputs of forwards that wait for their backward
        self.local: dict[tuple[str, int, int], Any] = {}  # what stages of this process give each other
        self.shapes: dict[int, Any] = {}  # of the activations from the stage before
        self.told: set[int] = set()
        self.sent: list[Any] = []

    @property
    def is_first(self) -> bool:
        """Whether no stage is before this one."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether no stage comes after this one."""
        return self.stage_index == self.num_stages - 1

    # -- between stages -------------------------------------------------------------------------------------------

    def _peer(self, stage: int) -> int:
        """The rank of a stage's process."""
        rank = self.stage_index_to_group_rank[stage]
        return rank if self.group is None else int(dist.get_global_rank(self.group, rank))

    def _tag(self, forward: bool, stage: int, number: int, which: int) -> int:
        return ((number * 8 + which) * self.num_stages + stage) * 2 + forward

    def _give(self, forward: bool, to: int, number: int, tensors: Any) -> None:
        if self.stage_index_to_group_rank[to] == self.group_rank:
            self.neighbours[to].local[("F" if forward else "B", to, number)] = [
                t.detach() if isinstance(t, Tensor) else t for t in tensors]
            return
        if forward and to not in self.told:
            self.told.add(to)
            facts = [(tuple(t.shape), t.stride() if t.is_contiguous() else None, t.dtype, t.requires_grad)
                for t in tensors]
            dist.send_object_list([facts], dst=self._peer(to), group=self.group)
        for i, t in enumerate(tensors):
            if t is not None:
                data = t.detach().contiguous()
                self.sent.append((dist.isend(data, self._peer(to), group=self.group,
                    tag=self._tag(forward, to, number, i)), data))

    def _take(self, forward: bool, source: int, number: int, like: Any) -> list[Any]:
        """Tensors from a stage; ``like``: shape and type of each, None for none."""
        if self.stage_index_to_group_rank[source] == self.group_rank:
            found: list[Any] = self.local.pop(("F" if forward else "B", self.stage_index, number))
            return found
        row: list[Any] = []
        for i, fact in enumerate(like):
            if fact is None:
                row.append(None)
                continue
            data = empty_strided(fact[0], _strides(fact[0]), dtype=fact[1])
            dist.recv(data, self._peer(source), group=self.group,
                tag=self._tag(forward, self.stage_index, number, i))
            row.append(data)
        return row

    neighbours: dict[int, PipelineStage]

    def wait(self) -> None:
        """Wait until everything that was sent has left."""
        for work, _ in self.sent:
            work.wait()
        self.sent.clear()

    # -- a piece of a batch -----------------------------------------------------------------------------------------

    def _inputs(self, number: int) -> list[Any]:
        """The activations that come for a piece, as leaves."""
        source = self.stage_index - 1
        here = self.stage_index_to_group_rank[source] == self.group_rank
        if not here and source not in self.shapes:
            box: list[Any] = [None]
            dist.recv_object_list(box, src=self._peer(source), group=self.group)
            self.shapes[source] = box[0]
        facts = self.shapes.get(source, ())
        found = self._take(True, source, number, [(f[0], f[2]) for f in facts])
        wants = [f[3] for f in facts] if not here else [t.is_floating_point() for t in found]
        return [t.requires_grad_(self.has_backward and w) for t, w in zip(found, wants)]

    def forward_one_chunk(self, number: int, args: Any = (), kwargs: Any = None) -> Any:
        """The forward of piece ``number``; its output, which also goes to the next stage."""
        inputs = list(args) if self.is_first else self._inputs(number)
        output = self.submod(*inputs, **(kwargs or {}))
        outputs = _row(output)
        if not self.is_last:
            self._give(True, self.stage_index + 1, number, outputs)
        if self.has_backward:
            self.kept[number] = (inputs, outputs)
        return output

    def backward_one_chunk(self, number: int, loss: Any = None, last: bool = True) -> None:
        """The backward of piece ``number``, from the loss in the last stage; gradients go to the stage before."""
        inputs, outputs = self.kept.pop(number)
        with self._synchronised(last):
            if self.is_last:
                backward(loss)
            else:
                live = [t if t.requires_grad else None for t in outputs]
                grads = self._take(False, self.stage_index + 1, number,
                    [None if t is None else (tuple(t.shape), t.dtype) for t in live])
                backward([t for t in live if t is not None], [g for t, g in zip(live, grads) if t is not None])
        if not self.is_first:
            self._give(False, self.stage_index - 1, number, [_gradient(t) for t in inputs])

    def _synchronised(self, last: bool) -> Any:
        """Data parallelism adds up gradients in the last backward of a batch only."""
        if isinstance(self.submod, FSDPModule):
            self.submod.set_requires_gradient_sync(last)
        elif not last and type(self.submod).__name__ == "DistributedDataParallel":
            return self.submod.no_sync()
        return nullcontext()

    def scale_grads(self, factor: int) -> None:
        """Divide the gradients of the parameters."""
        for p in self.submod.parameters():
            if p.grad is not None and factor != 1:
                p.grad.div_(factor)

    def clear(self) -> None:
        """Forget what is left of a batch."""
        self.kept.clear()
        self.local.clear()


def _gradient(t: Any) -> Any:
    """The gradient of an activation; None if it wants none."""
    if not t.requires_grad:
        return None
    return t.grad if t.grad is not None else t.new_zeros(t.shape)


def _strides(shape: Any) -> tuple[int, ...]:
    row: list[int] = []
    step = 1
    for n in reversed(shape):
        row.insert(0, step)
        step *= max(n, 1)
    return tuple(row)


def build_stage(stage_module: Any, stage_index: int, pipe_info: Any, device: Any = None,
        group: Any = None) -> PipelineStage:
    """The stage of a module that ``pipeline`` has made."""
    return PipelineStage(stage_module, stage_index, pipe_info.num_stages, device, group=group)
