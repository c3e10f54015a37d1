"""PowerSGD (Vogels et al., "PowerSGD: Practical Low-Rank Gradient Compression for Distributed Optimization", 2019).

The gradient M (n x m) of a matrix is sent as P (n x r) and Q (m x r): one step of a power iteration on the mean of M
over the processes. What is lost is added to the next gradient.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

import numpy as np

import wengert
from wengert import distributed as dist
from wengert.graph import no_grad

from .default_hooks import _allreduce_fut, group_or_world

if TYPE_CHECKING:
    from wengert import Tensor
    from wengert.futures import Future

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]

logger = logging.getLogger(__name__)


class PowerSGDState:
    """What the hook remembers: low-rank factors and errors of each bucket.

    ``matrix_approximation_rank``: r. ``start_powerSGD_iter``: iterations before it with plain averages, at least 2
    where ``warm_start`` or ``use_error_feedback`` is on, as buckets are made anew after the first.
    ``min_compression_rate``: smaller matrices than that times what would be sent go as they are. ``warm_start``: begin
    with the Q of the iteration before.
    """

    def __init__(self, process_group: Any, matrix_approximation_rank: int = 1, start_powerSGD_iter: int = 1000,
            min_compression_rate: float = 2, use_error_feedback: bool = True, warm_start: bool = True,
            orthogonalization_epsilon: float = 0, random_seed: int = 0,
            compression_stats_logging_frequency: int = 10_000, batch_tensors_with_same_shape: bool = False) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError("Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, "
                "because PowerSGD can only be applied after the first two iterations in DDP.")
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, Tensor] = {}
        self.p_memory_dict: dict[int, Tensor] = {}
        self.q_memory_dict: dict[int, Tensor] = {}
        self.iter = 0
        self.total_numel_before_compression = self.total_numel_after_compression = 0
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.next_stats_report = 0
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = dist.group.WORLD
        self.__dict__.update(state)

    def maybe_increase_iter(self, bucket: dist.GradBucket) -> None:
        """Count an iteration at its last bucket."""
        if bucket.is_last():
            self.iter += 1
            if self.iter == self.start_powerSGD_iter:
                logger.info("Start to apply PowerSGD after %s iterations.", self.iter)

    def compression_stats(self) -> tuple[float, int, int]:
        """The rate of compression so far, and the numbers of elements before and after it."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0), before, after

    def randomize(self, matrices: list[Tensor]) -> None:
        """Fill with normal random numbers, the same in all processes; the generator of the program stays as it is."""
        with wengert.random.fork_rng(devices=[]):
            wengert.manual_seed(int(self.rng.randint(1_000_000_000)))
            for matrix in matrices:
                matrix.copy_(wengert.randn(matrix.shape, dtype=matrix.dtype))

    def begins(self, index: int) -> bool:
        """Whether a bucket has no factors to begin with."""
        return not self.warm_start or index not in self.q_memory_dict


def _orthogonalize(matrices: Tensor, epsilon: float = 0) -> None:
    """Make the columns of a batch of matrices orthonormal, in place."""
    if matrices.shape[2] > 2 and matrices.dtype not in (wengert.float16, wengert.bfloat16):
        matrices.copy_(wengert.linalg.qr(matrices)[0])
        return
    for i in range(matrices.shape[2]):
        column = matrices[:, :, i:i + 1]
        column /= wengert.norm(column, dim=(1, 2), keepdim=True) + epsilon if epsilon else _length(column)
        rest = matrices[:, :, i + 1:]
        if rest.numel():
            rest -= wengert.sum(column * rest, dim=1, keepdim=True) * column


def _length(column: Tensor) -> Tensor:
    """The norm of each column; 1 where it is 0, so that a column of zeros stays one."""
    length = wengert.norm(column, dim=(1, 2), keepdim=True)
    return wengert.where(length == 0, wengert.ones_like(length), length)


def _should_compress(num_rows: int, num_cols: int, matrix_approximation_rank: int,
        min_compression_rate: float) -> tuple[bool, int, int]:
    before = num_rows * num_cols
    after = (num_rows + num_cols) * matrix_approximation_rank
    return after * min_compression_rate < before, before, after


def _with_error(state: PowerSGDState, index: int, buffer: Tensor) -> Tensor | None:
    """Add what an earlier compression has lost; gives a copy of the sum."""
    if not state.use_error_feedback:
        return None
    if index in state.error_dict:
        buffer.add_(state.error_dict[index])
    else:
        state.error_dict[index] = wengert.zeros_like(buffer)
    return buffer.clone()


def _mean_later(tensor: Tensor, group: Any) -> Future[Any]:
    return dist.all_reduce(tensor, group=group, async_op=True).get_future()


def powerSGD_hook(state: PowerSGDState, bucket: dist.GradBucket) -> Future[Tensor]:
    """The mean of the gradients of matrices at low rank, of all other gradients as they are."""
    group, buffer, index = group_or_world(state.process_group), bucket.buffer(), bucket.index()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return _allreduce_fut(group, buffer)
    with no_grad():
        given = _with_error(state, index, buffer)
        matrices, others = _sort_out(state, bucket.gradients())
        ps, qs = _factors(state, index, matrices, buffer)
        flat = wengert.cat([t.reshape(-1) for t in others]) if others else buffer.new_empty(0)
        for matrix, p, q in zip(matrices, ps, qs):
            wengert.mm(matrix, q, out=p)
    p_memory, q_memory = state.p_memory_dict[index], state.q_memory_dict[index]

    def p_is_wanted(done: Future[Any]) -> Any:
        with no_grad():
            for t, part in zip(others, done.value().split([t.numel() for t in others]) if others else ()):
                t.copy_(part.view_as(t))
        return _mean_later(p_memory, group).wait()

    def q_is_wanted(_: Any) -> Any:
        with no_grad():
            for matrix, p, q in zip(matrices, ps, qs):
                _orthogonalize(p[None], state.orthogonalization_epsilon)
                wengert.mm(matrix.t(), p, out=q)
        return _mean_later(q_memory, group).wait()

    def decompress(_: Any) -> Tensor:
        with no_grad():
            q_memory.div_(group.size())
            for matrix, p, q in zip(matrices, ps, qs):
                matrix.copy_(p @ q.t())
            _remember(state, index, given, buffer)
        state.maybe_increase_iter(bucket)
        return buffer

    return _allreduce_fut(group, flat).then(p_is_wanted).then(q_is_wanted).then(decompress)


def _sort_out(state: PowerSGDState, gradients: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """The gradients that are worth compressing, as matrices, and the others."""
    matrices, others = [], []
    for gradient in gradients:
        matrix = gradient.view(gradient.shape[0], -1) if gradient.dim() else gradient.view(1, 1)
        n, m = matrix.shape
        rank = min(n, m, state.matrix_approximation_rank)
        wanted, before, after = _should_compress(n, m, rank, state.min_compression_rate)
        state.total_numel_before_compression += before
        if wanted:
            matrices.append(matrix)
            state.total_numel_after_compression += after
        else:
            others.append(gradient)
            state.total_numel_after_compression += before
    return matrices, others


def _factors(state: PowerSGDState, index: int, matrices: list[Tensor], like: Tensor) -> tuple[list[Any], list[Any]]:
    """Views of the memory for P and for Q of each matrix; the columns of Q are orthonormal."""
    ranks = [min(*m.shape, state.matrix_approximation_rank) for m in matrices]
    begins = state.begins(index)
    if begins:
        state.p_memory_dict[index] = like.new_empty(sum(m.shape[0] * r for m, r in zip(matrices, ranks)))
        state.q_memory_dict[index] = like.new_empty(sum(m.shape[1] * r for m, r in zip(matrices, ranks)))
    ps = _views(state.p_memory_dict[index], [(m.shape[0], r) for m, r in zip(matrices, ranks)])
    qs = _views(state.q_memory_dict[index], [(m.shape[1], r) for m, r in zip(matrices, ranks)])
    if begins:
        state.randomize(qs)
    for q in qs:
        _orthogonalize(q[None], state.orthogonalization_epsilon)
    return ps, qs


def _views(memory: Tensor, shapes: list[tuple[int, int]]) -> list[Any]:
    return [part.view(shape) for part, shape in zip(memory.split([a * b for a, b in shapes]), shapes)] if shapes else []


def _remember(state: PowerSGDState, index: int, given: Tensor | None, sent: Tensor) -> None:
    if given is not None:
        state.error_dict[index] = given - sent
    if not state.warm_start:
        state.p_memory_dict.pop(index, None)
        state.q_memory_dict.pop(index, None)


def batched_powerSGD_hook(state: PowerSGDState, bucket: dist.GradBucket) -> Future[Tensor]:
    """The whole bucket as one square matrix at low rank: faster, and less exact."""
    group, buffer, index = group_or_world(state.process_group), bucket.buffer(), bucket.index()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return _allreduce_fut(group, buffer)
    count = buffer.numel()
    side = math.ceil(math.sqrt(count))
    rank = min(state.matrix_approximation_rank, side)
    state.total_numel_before_compression += count
    state.total_numel_after_compression += side * rank * 2
    with no_grad():
        square = wengert.nn.functional.pad(buffer, (0, side * side - count))
        given = _with_error(state, index, square)
        matrix = square.view(side, side)
        if state.begins(index):
            state.p_memory_dict[index], state.q_memory_dict[index] = buffer.new_empty(2, side, rank)
            state.randomize([state.q_memory_dict[index]])
        p, q = state.p_memory_dict[index], state.q_memory_dict[index]
        _orthogonalize(q[None])
        wengert.mm(matrix, q, out=p)

    def q_is_wanted(_: Any) -> Any:
        with no_grad():
            _orthogonalize(p[None])
            wengert.mm(matrix.t(), p, out=q)
        return _mean_later(q, group).wait()

    def decompress(_: Any) -> Tensor:
        with no_grad():
            q.div_(group.size())
            matrix.copy_(p @ q.t())
            _remember(state, index, given, square)
            buffer.copy_(square[:count])
        state.maybe_increase_iter(bucket)
        return buffer

    return _mean_later(p, group).then(q_is_wanted).then(decompress)
