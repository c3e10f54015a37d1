"""The random numbers of CUDA devices: Philox 4x32-10, laid out over threads as PyTorch's kernels do.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). A thread has a sequence of its own, whose
blocks of four words are numbered; where a call begins is the generator's ``offset``. Which element gets which word
follows from how many threads a launch has, hence ``threads``: the most that the device runs at once.

Uniform, normal and exponential numbers, integers in a range, Bernoulli numbers of one probability and dropout masks are
made so. Other draws come from a Mersenne Twister of the same seed: they are not PyTorch's numbers.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .generator import Generator, _joined
from .kinds import kind_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    Shape = tuple[int, ...]

BLOCK = 256  # threads of a block
_LOW, _WORD = np.uint64(0xFFFFFFFF), np.uint64(32)
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = 0x9E3779B9, 0xBB67AE85
_WIDE_RANGE = 1 << 28  # integers in so wide a range are made of 64 bits


def philox(counters: Any, sequences: Any, seed: int) -> list[Any]:
    """Four words of 32 bits for each pair of a block's number and a sequence, both arrays of uint64."""
    a, b = counters & _LOW, counters >> _WORD
    c, d = sequences & _LOW, sequences >> _WORD
    keys = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        first, second = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, c = (second >> _WORD) ^ b ^ np.uint64(keys[0]), (first >> _WORD) ^ d ^ np.uint64(keys[1])
        b, d = second & _LOW, first & _LOW
        keys = [(key + step) & 0xFFFFFFFF for key, step in zip(keys, _STEPS)]
    return [a, b, c, d]


class Philox(Generator):
    """A generator of a device's numbers. ``threads``: how many the device runs at once."""

    __slots__ = ("_offset", "threads")

    def __init__(self, seed: int, threads: int = 1 << 18) -> None:
        super().__init__(seed)
        self._offset, self.threads = 0, threads

    def manual_seed(self, seed: int) -> Any:
        """Start anew from ``seed``."""
        super().manual_seed(seed)
        self._offset = 0
        return self

    def get_offset(self) -> int:
        """The number of words that each sequence has given."""
        return self._offset

    def set_offset(self, offset: int) -> None:
        """Continue behind so many words of each sequence, a multiple of 4."""
        if offset % 4:
            raise RuntimeError("offset must be a multiple of 4")
        self._offset = offset

    def get_state(self) -> NDArray[np.uint8]:
        """Seed and offset, in the 16 bytes that PyTorch has for them."""
        return np.array([self.initial_seed(), self._offset], "<u8").view(np.uint8)

    def set_state(self, state: NDArray[np.uint8]) -> Any:
        """Continue from a state of 16 bytes (of 8: the seed alone)."""
        row = np.frombuffer(np.ascontiguousarray(state).tobytes(), "<u8")
        if not 1 <= row.size <= 2:
            raise RuntimeError(f"RNG state is wrong size: {state.size} bytes")
        self.manual_seed(int(row[0]))
        self._offset = int(row[1]) if row.size > 1 else 0
        return self

    # -- words --------------------------------------------------------------------------------------------------------

    def _launch(self, count: int) -> int:
        """The number of threads for so many elements."""
        return BLOCK * min(-(-count // BLOCK), max(self.threads // BLOCK, 1))

    def words(self, count: int, each: int, vector: int = 1) -> NDArray[np.uint64]:
        """Blocks of four words, as rows, in the order of the elements that they are for, and the offset moved on.

        ``each``: how many elements a block is for; ``vector``: how many neighbours one thread takes at a time.
        """
        if not count:
            return np.empty((0, 4), np.uint64)
        threads = self._launch(count)
        rounds = -(-count // (threads * (each if vector == 1 else vector)))
        with self._lock:
            start = self._offset // 4
            self._offset += 4 * (-(-count // (threads * (4 if vector > 1 else each))))
        counters = np.repeat(np.arange(start, start + rounds, dtype=np.uint64), threads)
        sequences = np.tile(np.arange(threads, dtype=np.uint64), rounds)
        return np.stack(philox(counters, sequences, self.initial_seed()), -1).reshape(rounds, threads, 4)

    def _spread(self, values: Any, count: int) -> NDArray:
        """Values by round, thread and place in the block, in the order of elements."""
        return values.transpose(0, 2, 1).reshape(-1)[:count] if count else values.reshape(-1)

    def singles(self, count: int) -> NDArray[np.float32]:
        """Uniform float32 numbers in (0, 1]."""
        return self._spread(_single(self.words(count, 4)), count)

    def doubles(self, count: int) -> NDArray[np.float64]:
        """Uniform float64 numbers in (0, 1]."""
        w = self.words(count, 2)
        bits = np.stack((w[..., 0] ^ (w[..., 1] << np.uint64(21)), w[..., 2] ^ (w[..., 3] << np.uint64(21))), -1)
        return self._spread(bits * 2.0**-53 + 2.0**-54, count)

    def _uniforms(self, count: int, wide: bool) -> NDArray:
        return self.doubles(count) if wide else self.singles(count)

    def _normals_of(self, count: int, wide: bool) -> NDArray:
        """Standard normal numbers, by Box and Muller."""
        if not wide:
            w = self.words(count, 4)
            step = np.float32(2.0**-32)
            turn = np.float32(2.0**-32 * 6.2831855)
            u, angle = _single(w[..., 0::2]), w[..., 1::2].astype(np.float32) * turn + turn / np.float32(2)
            radius = np.sqrt(np.float32(-2) * np.log(np.maximum(u, step / np.float32(2))))
            pairs = np.stack((np.sin(angle) * radius, np.cos(angle) * radius), -1)
            return self._spread(pairs.reshape(*w.shape[:-1], 4) if count else pairs.reshape(0, 4), count)
        w = self.words(count, 2)
        u = (w[..., 0] ^ (w[..., 1] << np.uint64(21))) * 2.0**-53 + 2.0**-54
        half = (w[..., 2] ^ (w[..., 3] << np.uint64(21))) * 2.0**-52 + 2.0**-53
        radius, angle = np.sqrt(-2.0 * np.log(u)), half * np.pi
        return self._spread(np.stack((np.sin(angle) * radius, np.cos(angle) * radius), -1), count)

    # -- draws --------------------------------------------------------------------------------------------------------

    def uniform(self, shape: Shape, dtype: DTypeLike, low: float = 0.0, high: float = 1.0, *,
            out: Any = None) -> NDArray:
        """Uniform in ``[low, high)``."""
        kind = kind_of(dtype)
        if kind.part:
            return _joined(self.uniform((*shape, 2), kind.part, low, high), kind)
        number = np.float64 if kind.wide else np.float32
        found = self._uniforms(prod(shape), kind.wide) * number(high - low) + number(low)
        found = found.astype(kind.dtype)
        found[found == kind.dtype.type(high)] = low
        return found.reshape(shape)

    def normal(self, shape: Shape, dtype: DTypeLike, mean: float = 0.0, std: float = 1.0, *, contiguous: bool = True,
            out: Any = None) -> NDArray:
        """Normal numbers."""
        kind = kind_of(dtype)
        if not std >= 0.0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        if kind.part:
            return _joined(self.normal((*shape, 2), kind.part, mean, std / 2.0**0.5), kind)
        number = np.float64 if kind.wide else np.float32
        found = self._normals_of(prod(shape), kind.wide) * number(std) + number(mean)
        return found.astype(kind.dtype).reshape(shape)

    def random(self, shape: Shape, dtype: DTypeLike, low: int | None = None, high: int | None = None) -> NDArray:
        """Integers in ``[low, high)``; without bounds as on the CPU."""
        if high is None:
            return super().random(shape, dtype, low, high)
        base, count = low or 0, prod(shape)
        size = high - base
        if size >= _WIDE_RANGE:
            w = self.words(count, 2)
            found = np.stack((w[..., 0] << _WORD | w[..., 1], w[..., 2] << _WORD | w[..., 3]), -1)
        else:
            found = self.words(count, 4)
        numbers = (self._spread(found, count) % np.uint64(size)).astype(np.int64) + base
        return numbers.astype(kind_of(dtype).dtype).reshape(shape)

    def exponential(self, shape: Shape, dtype: DTypeLike, rate: float = 1.0) -> NDArray:
        """Exponential numbers."""
        kind = kind_of(dtype)
        u = self._uniforms(prod(shape), kind.wide)
        least = np.finfo(u.dtype).eps / 2
        logs = np.where(u >= 1.0 - least, -least, np.log(u)).astype(u.dtype)
        return (logs * u.dtype.type(-1.0 / rate)).astype(kind.dtype).reshape(shape)

    def bernoulli(self, shape: Shape, p: float, dtype: DTypeLike = np.float32) -> NDArray:
        """One with probability ``p``, else zero."""
        if not 0.0 <= p <= 1.0:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        kind = kind_of(dtype)
        u = self._uniforms(prod(shape), kind.wide)
        return (u < u.dtype.type(p)).astype(kind.dtype).reshape(shape)

    def dropout_mask(self, shape: Shape, keep: float, strides: Any = None) -> NDArray[np.bool_]:
        """Which elements stay, each with probability ``keep``: four neighbours a thread where they divide evenly."""
        count = prod(shape)
        vector = next(v for v in (4, 2, 1) if count % v == 0)
        w = _single(self.words(count, 4, vector)) < np.float32(keep)
        found = self._spread(w, count) if vector == 1 else w[..., :vector].reshape(-1)[:count]
        return found.reshape(shape)


def _single(words: Any) -> Any:
    return words.astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)
