"""Compressed gradients with error feedback: communication hooks for ``DistributedDataParallel``.

What a compression loses is added to the next gradient of the same parameters, so nothing is lost for good (Seide et
al., "1-Bit Stochastic Gradient Descent", 2014; Karimireddy et al., "Error Feedback Fixes SignSGD", 2019). Averages
travel in two steps: every process gets one part of the gradients of all, takes their mean, and sends it compressed to
all (Tang et al., "DoubleSqueeze", 2019). Each state counts the bytes that this process has sent.

::

    from wengert.distributed.compression import Int8State, int8_hook
    ddp.register_comm_hook(Int8State(), int8_hook)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

import wengert
from wengert import distributed as dist
from wengert.graph import no_grad
from wengert.utils.weak import WeakTensorKeyDictionary

if TYPE_CHECKING:
    from wengert import Tensor
    from wengert.distributed.buckets import GradBucket
    from wengert.futures import Future

_LLOYD = 3  # steps that move the threshold

__all__ = ["Int8State", "OneBitState", "TopKState", "int8_hook", "onebit_hook", "topk_hook"]


class CompressionState(ABC):
    """What a hook remembers: the errors of each bucket, and how many bytes were sent.

    ``process_group``: default all. ``error_feedback``: add what was lost to the next gradients. ``start_iter``:
    iterations before it send gradients as they are. ``bytes_sent``: by this process; ``bytes_plain``: what a ring
    all-reduce of the same gradients would have sent.
    """

    def __init__(self, process_group: Any = None, *, error_feedback: bool = True, start_iter: int = 0) -> None:
        self.process_group, self.error_feedback, self.start_iter = process_group, error_feedback, start_iter
        self.errors: dict[Any, np.ndarray] = {}
        self._laid: dict[int, list[tuple[int, int]]] = {}  # by bucket: its parameters' numbers, and their sizes
        self._moving: dict[int, np.ndarray] = {}  # by parameter, where buckets have been made anew
        self.iter = self.bytes_sent = self.bytes_plain = 0

    @property
    def group(self) -> Any:
        """The processes."""
        return dist.group.WORLD if self.process_group is None else self.process_group

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "process_group": None}

    def corrected(self, key: Any, values: np.ndarray) -> np.ndarray:
        """``values`` and what was lost before; forgotten if the bucket has another size now."""
        error = self.errors.get(key)
        return values + error if error is not None and error.shape == values.shape else values

    def lost(self, key: Any, error: np.ndarray) -> None:
        """Remember what a compression has lost."""
        if self.error_feedback:
            self.errors[key] = error

    def compress(self, key: Any, values: np.ndarray) -> np.ndarray:
        """``values``, and what was lost before under this key, as bytes; what is lost now is kept for the next time."""
        values = self.corrected(key, values)
        data = self.packed(values)
        self.lost(key, values - self.unpacked(data, values.size))
        return data

    def place(self, bucket: GradBucket) -> int:
        """The key of a bucket's errors, which go with their parameters: buckets are made anew after one backward."""
        key, laid = bucket.index(), list(zip(bucket._bucket.numbers, (p.numel() for p in bucket.parameters())))
        if self._laid.get(key, laid) != laid:
            for other, parts in self._laid.items():
                ends = np.cumsum([size for _, size in parts])[:-1]
                if other in self.errors:
                    self._moving |= {n: e for (n, _), e in zip(parts, np.split(self.errors[other], ends))}
            self.errors, self._laid = {}, {}
        if key not in self._laid and any(n in self._moving for n, _ in laid):
            kind = bucket.buffer().numpy().dtype
            self.errors[key] = np.concatenate([self._moving.pop(n, np.zeros(size, kind)) for n, size in laid])
        self._laid[key] = laid
        return key

    @abstractmethod
    def packed(self, values: np.ndarray) -> np.ndarray:
        """Values, an array of one dimension, as bytes."""

    @abstractmethod
    def unpacked(self, data: np.ndarray, size: int) -> np.ndarray:
        """The ``size`` values that are left of those that ``packed`` has made bytes of."""

    def begin(self, bucket: GradBucket) -> bool:
        """Count a bucket; whether it is to be compressed."""
        compresses = self.iter >= self.start_iter
        size, world = bucket.buffer().numel() * bucket.buffer().element_size(), self.group.size()
        self.bytes_plain += 2 * size * (world - 1) // world
        if not compresses:
            self.bytes_sent += 2 * size * (world - 1) // world
        if bucket.is_last():
            self.iter += 1
        return compresses


class TopKState(CompressionState):
    """``ratio`` of the gradients are sent, those of the greatest magnitude, each with its place (Aji and Heafield,
    "Sparse Communication for Distributed Gradient Descent", 2017).

    >>> from wengert.distributed.compression import TopKState
    >>> TopKState(ratio=0.01).count(1000)
    10
    """

    def __init__(self, process_group: Any = None, *, ratio: float = 0.01, error_feedback: bool = True,
            start_iter: int = 0) -> None:
        if not 0 < ratio <= 1:
            raise ValueError(f"ratio must be above 0 and at most 1, but is {ratio}")
        super().__init__(process_group, error_feedback=error_feedback, start_iter=start_iter)
        self.ratio = ratio

    def count(self, size: int) -> int:
        """How many of ``size`` gradients are sent."""
        return max(1, min(size, round(size * self.ratio)))

    def packed(self, values: np.ndarray) -> np.ndarray:
        count = self.count(values.size)
        places = np.argpartition(np.abs(values), values.size - count)[values.size - count:].astype(np.int32)
        return np.concatenate([places.view(np.uint8), values[places].astype(np.float32).view(np.uint8)])

    def unpacked(self, data: np.ndarray, size: int) -> np.ndarray:
        values = np.zeros(size, np.float32)
        places, found = data.reshape(2, -1)
        values[places.view(np.int32)] = found.view(np.float32)
        return values


class BlockState(CompressionState):
    """Gradients by blocks of ``block``, each with ``scales`` numbers in float32 of its own."""

    scales = 1

    def __init__(self, process_group: Any = None, *, block: int = 256, error_feedback: bool = True,
            start_iter: int = 0) -> None:
        if block < 8 or block % 8:
            raise ValueError(f"block must be a multiple of 8, but is {block}")
        super().__init__(process_group, error_feedback=error_feedback, start_iter=start_iter)
        self.block = block

    def packed(self, values: np.ndarray) -> np.ndarray:
        scales, codes = self.encode(np.pad(values, (0, -values.size % self.block)).reshape(-1, self.block))
        return np.concatenate([scales.astype(np.float32).reshape(-1).view(np.uint8), codes.reshape(-1).view(np.uint8)])

    def unpacked(self, data: np.ndarray, size: int) -> np.ndarray:
        count = -(-size // self.block)
        begin = 4 * self.scales * count
        return self.decode(data[:begin].view(np.float32), data[begin:], count).reshape(-1)[:size]

    @abstractmethod
    def encode(self, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scales and codes."""

    @abstractmethod
    def decode(self, scales: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
        """Blocks of values."""


class Int8State(BlockState):
    """Gradients rounded to 255 steps of each block: about a quarter of float32.

    >>> import numpy as np
    >>> from wengert.distributed.compression import Int8State
    >>> state = Int8State(block=8)
    >>> values = np.arange(-4, 4, dtype=np.float32)
    >>> bool(np.allclose(state.unpacked(state.packed(values), 8), values, atol=0.02))
    True
    """

    def encode(self, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scales = np.abs(blocks).max(1) / 127
        return scales, np.rint(blocks / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)

    def decode(self, scales: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
        result: np.ndarray = codes.view(np.int8).reshape(count, self.block) * scales[:, None]
        return result


class OneBitState(BlockState):
    """Gradients as one bit each, above or below a threshold of their block, and the mean of either part: about a
    sixteenth of float32. (The two-level quantizer of Seide et al. 2014, with the threshold of Lloyd, "Least Squares
    Quantization in PCM", 1982.)

    >>> import numpy as np
    >>> from wengert.distributed.compression import OneBitState
    >>> state = OneBitState(block=8)
    >>> state.unpacked(state.packed(np.array([1, 1, 1, 1, 1, 1, 1, 9], np.float32)), 8).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0]
    """

    scales = 2

    def __init__(self, process_group: Any = None, *, block: int = 64, error_feedback: bool = True,
            start_iter: int = 0) -> None:
        super().__init__(process_group, block=block, error_feedback=error_feedback, start_iter=start_iter)

    def encode(self, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        whole = blocks.sum(1)
        threshold = whole / self.block
        for _ in range(_LLOYD):
            above = blocks > threshold[:, None]
            count = np.count_nonzero(above, axis=1)
            sums = np.einsum("ij,ij->i", blocks, above.view(np.int8))
            high, low = sums / np.maximum(count, 1), (whole - sums) / np.maximum(self.block - count, 1)
            threshold = ((high + low) / 2).astype(blocks.dtype)
        return np.stack([low, high], 1), np.packbits(above, axis=1)

    def decode(self, scales: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
        low, high = scales.reshape(count, 2, 1).swapaxes(0, 1)
        return low + (high - low) * np.unpackbits(codes.reshape(count, -1), axis=1)


_states = WeakTensorKeyDictionary()  # of hooks that were given none, by parameter


def _state(kind: Any, given: Any, bucket: GradBucket) -> Any:
    """The state that a hook was given; where that is None or a group, one of the bucket's own."""
    if isinstance(given, CompressionState):
        return given
    first = bucket.parameters()[0]
    if not isinstance(_states.get(first), kind):
        _states[first] = kind(given)
    return _states[first]


def topk_hook(state: Any, bucket: GradBucket) -> Future[Tensor]:
    """The mean of the greatest gradients of each process. ``state``: a ``TopKState``, or a group or None for one with
    what is usual.
    """
    state = _state(TopKState, state, bucket)
    if not state.begin(bucket):
        return _plain(state, bucket)
    buffer, group = bucket.buffer(), state.group
    mine = state.compress(state.place(bucket), buffer.numpy())
    state.bytes_sent += mine.nbytes * (group.size() - 1)
    every = wengert.empty(group.size(), mine.size, dtype=wengert.uint8)
    work = dist.all_gather_into_tensor(every, wengert.from_numpy(mine), group=group, async_op=True)

    def mean(_: Any) -> Tensor:
        return _written(buffer, sum(state.unpacked(row, buffer.numel()) for row in every.numpy()) / group.size())

    return work.get_future().then(mean)


def _by_blocks(state: BlockState, bucket: GradBucket) -> Future[Tensor]:
    if not state.begin(bucket):
        return _plain(state, bucket)
    buffer, key, group = bucket.buffer(), state.place(bucket), state.group
    world, given = group.size(), state.corrected(key, buffer.numpy())
    part = -(-given.size // (world * state.block)) * state.block  # of each process, in whole blocks
    padded = np.zeros(world * part, given.dtype)
    padded[:given.size] = given
    rows = [state.packed(row) for row in padded.reshape(world, part)]
    state.lost(key, given - np.concatenate([state.unpacked(row, part) for row in rows])[:given.size])
    state.bytes_sent += 2 * (world - 1) * rows[0].size
    sent = wengert.from_numpy(np.stack(rows))
    received, every = wengert.empty_like(sent), wengert.empty_like(sent)
    work = dist.all_to_all_single(received, sent, group=group, async_op=True)

    def share(_: Any) -> Any:
        mine = sum(state.unpacked(row, part) for row in received.numpy()) / world
        packed = state.compress((key, "mean"), np.asarray(mine, given.dtype))
        return dist.all_gather_into_tensor(every, wengert.from_numpy(packed), group=group, async_op=True).wait()

    def whole(_: Any) -> Tensor:
        return _written(buffer, np.concatenate([state.unpacked(row, part) for row in every.numpy()])[:given.size])

    return work.get_future().then(share).then(whole)


def int8_hook(state: Any, bucket: GradBucket) -> Future[Tensor]:
    """The mean of gradients, sent as integers of eight bits. ``state``: an ``Int8State``, a group or None."""
    return _by_blocks(_state(Int8State, state, bucket), bucket)


def onebit_hook(state: Any, bucket: GradBucket) -> Future[Tensor]:
    """The mean of gradients, sent as one bit each. ``state``: a ``OneBitState``, a group or None."""
    return _by_blocks(_state(OneBitState, state, bucket), bucket)


def _plain(state: CompressionState, bucket: GradBucket) -> Future[Tensor]:
    from .algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

    return allreduce_hook(state.group, bucket)


def _written(buffer: Tensor, values: Any) -> Tensor:
    with no_grad():
        return buffer.copy_(wengert.from_numpy(np.ascontiguousarray(values)))
