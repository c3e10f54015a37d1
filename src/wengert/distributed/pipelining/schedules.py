"""Schedules: in which order a process runs forwards and backwards of the pieces of a batch."""

from __future__ import annotations

from typing import Any

from .microbatch import TensorChunkSpec, merge_chunks, split_args_kwargs_into_chunks

__all__ = ["Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble",
    "ScheduleLoopedBFS", "get_schedule_class"]
Step = tuple[str, int, int]  # "F" or "B", the stage, the piece


class _Schedule:
    """``step(batch, target=...)`` runs a batch in ``n_microbatches`` pieces.

    The process of the first stage gives the batch, that of the last the target; the latter gets the output, and the
    losses of the pieces in the list ``losses``. ``loss_fn(output, target)`` makes the loss; without it there are no
    backwards. Gradients are those of the mean over the pieces (``scale_grads``).
    """

    def __init__(self, stages: list[Any], n_microbatches: int, loss_fn: Any, args_chunk_spec: Any,
            kwargs_chunk_spec: Any, output_merge_spec: Any, scale_grads: bool) -> None:
        self._stages, self._n_microbatches, self._loss_fn = stages, n_microbatches, loss_fn
        self._args_chunk_spec, self._kwargs_chunk_spec = args_chunk_spec, kwargs_chunk_spec
        self._output_merge_spec, self.scale_grads = output_merge_spec, scale_grads
        self._has_backward = loss_fn is not None
        neighbours = {s.stage_index: s for s in stages}
        for s in stages:
            s.neighbours, s.has_backward = neighbours, self._has_backward
        self._first = next((s for s in stages if s.is_first), None)
        self._last = next((s for s in stages if s.is_last), None)

    def _order(self) -> list[Step]:
        raise NotImplementedError

    def step(self, *args: Any, target: Any = None, losses: list[Any] | None = None, return_outputs: bool = True,
            **kwargs: Any) -> Any:
        """Run one batch; the output in the process of the last stage, else None."""
        for s in self._stages:
            s.has_backward = self._has_backward
        return self._run(self._order(), args, kwargs, target, losses, return_outputs)

    def eval(self, *args: Any, target: Any = None, losses: list[Any] | None = None, **kwargs: Any) -> Any:
        """Run the forwards of one batch."""
        for s in self._stages:
            s.has_backward = False
        return self._run([x for x in self._order() if x[0] == "F"], args, kwargs, target, losses, True)

    def _run(self, order: list[Step], args: Any, kwargs: Any, target: Any, losses: Any, wanted: bool) -> Any:
        n = self._n_microbatches
        arg_rows, kwarg_rows = split_args_kwargs_into_chunks(args, kwargs, n, self._args_chunk_spec,
            self._kwargs_chunk_spec)
        if (args or kwargs) and len(arg_rows) != n:
            raise ValueError(f"Expecting {n} arg_mbs but got {len(arg_rows)}")
        targets = None if target is None else split_args_kwargs_into_chunks((target,), None, n)[0]
        outputs: dict[int, Any] = {}
        found: dict[int, Any] = {}
        left = {s.stage_index: sum(1 for x in order if x[0] == "B" and x[1] == s.stage_index) for s in self._stages}
        by_index = {s.stage_index: s for s in self._stages}
        for kind, at, number in order:
            stage = by_index[at]
            if kind == "B":
                left[at] -= 1
                stage.backward_one_chunk(number, found.get(number), left[at] == 0)
                continue
            rows = (arg_rows[number] if stage.is_first and arg_rows else (), kwarg_rows[number] if kwarg_rows else {})
            output = stage.forward_one_chunk(number, *rows)
            if stage.is_last:
                if wanted:
                    outputs[number] = output
                if self._loss_fn is not None and targets is not None:
                    found[number] = self._loss_fn(output, targets[number][0])
        self._end({s for s in self._stages if left[s.stage_index] == 0}, n)
        if losses is not None and self._last is not None:
            losses[:] = [found[k] for k in sorted(found)]
        if self._last is None or not wanted:
            return None
        return merge_chunks([outputs[k] for k in sorted(outputs)], self._output_merge_spec)

    def _end(self, complete: set[Any], parts: int) -> None:
        """Wait for what is under way; divide the gradients of stages whose backwards are complete."""
        for s in self._stages:
            s.wait()
            s.clear()
            if self.scale_grads and s in complete and self._has_backward and s.has_backward:
                s.scale_grads(parts)


class PipelineScheduleSingle(_Schedule):
    """One stage in each process."""

    def __init__(self, stage: Any, n_microbatches: int, loss_fn: Any = None,
            args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
            kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None, output_merge_spec: Any = None,
            scale_grads: bool = True) -> None:
        super().__init__([stage], n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec,
            scale_grads)
        self._stage, self._num_stages = stage, stage.num_stages
        if n_microbatches < self._num_stages and type(self) is Schedule1F1B:
            raise ValueError(f"Number of microbatches ({n_microbatches}) must be greater than or equal to the number "
                f"of stages ({self._num_stages}).")


class ScheduleGPipe(PipelineScheduleSingle):
    """All forwards, then all backwards.

    >>> from wengert.distributed.pipelining import ScheduleGPipe
    >>> callable(ScheduleGPipe)
    True
    """

    def _order(self) -> list[Step]:
        at, n = self._stage.stage_index, self._n_microbatches
        backwards = [("B", at, i) for i in range(n)] if self._has_backward else []
        return [*(("F", at, i) for i in range(n)), *backwards]


class Schedule1F1B(PipelineScheduleSingle):
    """As many forwards as stages follow, then a forward and a backward in turn: fewer activations are kept.

    >>> from wengert.distributed.pipelining import Schedule1F1B
    >>> callable(Schedule1F1B)
    True
    """

    def _order(self) -> list[Step]:
        at, n = self._stage.stage_index, self._n_microbatches
        return _alternating([("F", at, i) for i in range(n)], [("B", at, i) for i in range(n)],
            min(n, self._num_stages - at) - 1) if self._has_backward else [("F", at, i) for i in range(n)]


def _alternating(forwards: list[Step], backwards: list[Step], first: int) -> list[Step]:
    """``first`` forwards, then one of each in turn, then the other backwards."""
    order = forwards[:first]
    for f, b in zip(forwards[first:], backwards):
        order += [f, b]
    return order + backwards[len(forwards) - first :]


class PipelineScheduleMulti(_Schedule):
    """Several stages in each process, which are dealt to the processes in turn."""

    def __init__(self, stages: list[Any], n_microbatches: int, loss_fn: Any = None, args_chunk_spec: Any = None,
            kwargs_chunk_spec: Any = None, output_merge_spec: Any = None, scale_grads: bool = True, **_: Any) -> None:
        super().__init__(sorted(stages, key=lambda s: s.stage_index), n_microbatches, loss_fn, args_chunk_spec,
            kwargs_chunk_spec, output_merge_spec, scale_grads)
        self.pp_group_size, self.rank = stages[0].group_size, stages[0].group_rank
        self.n_local_stages = len(stages)


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """All pieces through the first stage of this process, then all through the next; backwards likewise.

    >>> from wengert.distributed.pipelining import ScheduleLoopedBFS
    >>> callable(ScheduleLoopedBFS)
    True
    """

    def _order(self) -> list[Step]:
        n = self._n_microbatches
        order: list[Step] = [("F", s.stage_index, i) for s in self._stages for i in range(n)]
        if self._has_backward:
            order += [("B", s.stage_index, i) for s in reversed(self._stages) for i in reversed(range(n))]
        return order


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """``Schedule1F1B`` with several stages in each process: pieces pass them in rounds.

    >>> from wengert.distributed.pipelining import ScheduleInterleaved1F1B
    >>> callable(ScheduleInterleaved1F1B)
    True
    """

    def _order(self) -> list[Step]:
        n, size, local = self._n_microbatches, self.pp_group_size, self.n_local_stages
        rounds = max(1, n // size)
        each = n // rounds
        if n % rounds:
            raise ValueError("Interleaved 1F1B requires the number of microbatches to be a multiple of the number of "
                f"rounds ({rounds}), but got {n}.")
        forwards: list[Step] = []
        backwards: list[Step] = []
        for r in range(rounds):
            for k in range(local):
                forwards += [("F", k * size + self.rank, i) for i in range(r * each, r * each + each)]
                backwards += [("B", (local - 1 - k) * size + self.rank, i) for i in range(r * each, r * each + each)]
        if not self._has_backward:
            return forwards
        first = min(len(forwards), (local - 1) * each + 2 * (size - 1 - self.rank))
        return _alternating(forwards, backwards, first)


class ScheduleInterleavedZeroBubble(ScheduleInterleaved1F1B):
    """The order of ``ScheduleInterleaved1F1B``, and its numbers.

    Gradients of weights are not put off to fill the gaps: a backward of a stage is one piece of work.

    >>> from wengert.distributed.pipelining import ScheduleInterleavedZeroBubble
    >>> callable(ScheduleInterleavedZeroBubble)
    True
    """


def get_schedule_class(schedule_name: str) -> type[_Schedule]:
    """The schedule of a name, as configuration files have it; upper and lower case are the same.

    >>> from wengert.distributed.pipelining.schedules import get_schedule_class
    >>> get_schedule_class("1f1b").__name__
    'Schedule1F1B'
    """
    found = {c.__name__.removeprefix("Schedule").lower(): c for c in (Schedule1F1B, ScheduleGPipe,
        ScheduleInterleaved1F1B, ScheduleInterleavedZeroBubble, ScheduleLoopedBFS, PipelineScheduleSingle,
        PipelineScheduleMulti)}
    name = schedule_name.lower()
    if name not in found:
        raise ValueError(f"Unknown schedule name: {schedule_name}. The valid options are {list(found)}")
    return found[name]
