"""The Mersenne Twister and the plain numbers made of its 32-bit words.

Source: Matsumoto and Nishimura, "Mersenne Twister" (1998). The extension supplies the words (``native/twister.c``), or
NumPy's ``MT19937``; what is kept here is how PyTorch seeds it, combines its words and writes its state.
"""

from __future__ import annotations

import os
from math import cos, log1p, pi, sin, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.arrays import kernels
from wengert.arrays.plain.draws import LANES  # arrays of at least this many elements are filled 16 at a time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

STATE_BYTES = 5056  # of a saved state: the seed, two counters, 624 words of 8 bytes, the spare normal numbers
PIECE = 1 << 15  # large arrays are filled in pieces of so many words, so that temporaries stay in the cache
NATIVE_GAMMAS: Any = getattr(kernels._native, "gammas", None)
NATIVE_POISSONS: Any = getattr(kernels._native, "poissons", None)
NATIVE_CHOICES: Any = getattr(kernels._native, "choices", None)
_TWISTER: Any = getattr(kernels._native, "twister", None)
_WORDS = 624
_HALF_WORD = np.uint64(32)


def entropy() -> int:
    """A 64-bit seed from the operating system."""
    return int.from_bytes(os.urandom(8), "little")


def pieces(count: int, size: int = PIECE) -> Iterator[tuple[int, int]]:
    """The bounds of the consecutive pieces that ``count`` elements are filled in."""
    return ((start, min(start + size, count)) for start in range(0, count, size))


# The record that a saved state is. The gaps are fields that PyTorch no longer uses.
_FIELDS = {
    "seed": ("<u8", 0), "left": ("<i4", 8), "seeded": ("<i4", 12), "next": ("<u8", 16),
    "words": (("<u8", (_WORDS,)), 24), "spare": ("<f8", 5024), "has_spare": ("<i4", 5040),
    "spare_single": ("<f4", 5048), "has_spare_single": ("u1", 5052),
}
_LAYOUT = np.dtype({"names": list(_FIELDS), "formats": [form for form, _ in _FIELDS.values()],
    "offsets": [offset for _, offset in _FIELDS.values()], "itemsize": STATE_BYTES})


class Stream:
    """One sequence of random words, with the further state that PyTorch keeps. Not thread-safe: the generator locks.

    ``seed``: 64 bits, of which the low 32 choose the sequence. ``spare``: a float64 standard normal, made with the
    previous one and not used yet, or None; ``spare_single``: the same for float32, only kept in saved states.
    """

    __slots__ = ("_bits", "_untouched", "seed", "spare", "spare_single")

    def __init__(self, seed: int) -> None:
        self._bits: Any = None
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Start the sequence of ``seed`` from its beginning."""
        self.seed = seed
        self.spare: float | None = None
        self.spare_single: float | None = None
        self._untouched = True
        if self._bits is not None:
            self._begin()

    def _begin(self) -> Any:
        seed = self.seed & 0xFFFFFFFF
        if _TWISTER is not None:
            self._bits = _TWISTER(seed)
            return self._bits
        from numpy.random import MT19937, RandomState  # which take longer to import than the rest of a first draw

        if self._bits is None:
            self._bits = MT19937(0)
        RandomState(self._bits).seed(seed)  # the 1998 seeding, not NumPy's SeedSequence
        return self._bits

    def _source(self, count: int) -> Any:
        """The generator of words, which ``count`` numbers are about to be drawn from."""
        if count:
            self._untouched = False
        return self._bits or self._begin()

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next ``count`` words of 32 bits."""
        return self._source(count).random_raw(count)

    def longs(self, count: int) -> NDArray[np.uint64]:
        """The next ``count`` numbers of 64 bits: two words each, the high one first."""
        words = self.words(2 * count)
        high = words[0::2] << _HALF_WORD
        high |= words[1::2]
        return high

    def mantissas(self, count: int) -> NDArray[np.int64]:
        """The next ``count`` numbers of 53 bits, the numerators of :meth:`doubles`. Two words each."""
        return kernels.fill_uniform(self._source(count), np.empty(count, np.int64))

    def below(self, out: NDArray[np.bool_], bound: int) -> NDArray[np.bool_]:
        """Fill with whether each of the next :meth:`mantissas` is below ``bound``."""
        return kernels.fill_below(self._source(out.size), out, bound)

    def integers(self, out: NDArray[np.int64], size: int, base: int, wide: bool) -> NDArray[np.int64]:
        """Fill a flat array with ``base`` plus the remainders by ``size`` of the next words (``wide``: of 64 bits)."""
        return kernels.fill_integers(self._source(out.size), out, size % (1 << 64), base % (1 << 64), wide)

    def permuted(self, out: NDArray[np.int64], wide: bool) -> NDArray[np.int64]:
        """Fill a flat array with the numbers below its length in a random order."""
        return kernels.fill_permutation(self._source(out.size if wide else max(out.size - 1, 0)), out, wide)

    def doubles(self, count: int) -> NDArray[np.float64]:
        """The next ``count`` float64 uniforms in [0, 1): 53 bits over 2**53."""
        return kernels.fill_uniform(self._source(count), np.empty(count, np.float64))

    def between(self, out: NDArray, low: float, width: float) -> NDArray:
        """Fill with uniforms in [0, 1), float32 or float64, times ``width`` plus ``low``, rounded once."""
        if low == 0.0 and width == 1.0:
            return kernels.fill_uniform(self._source(out.size), out)
        return kernels.fill_between(self._source(out.size), out, low, width)

    def singles(self, count: int) -> NDArray[np.float32]:
        """The next ``count`` float32 uniforms in [0, 1): the low 24 bits of one word each, over 2**24."""
        return kernels.fill_uniform(self._source(count), np.empty(count, np.float32))

    def normals(self, out: NDArray, mean: float, std: float) -> NDArray:
        """Fill a flat array of at least 16 floats of any width: each run of 16 uses 16 uniforms.

        Where the length is no multiple of 16, the last 16 elements are made anew from 16 further uniforms; the 32- and
        64-bit types first pass over those that the leftover would have used.
        """
        bits = self._source(out.size)
        if out.itemsize != 2:
            return kernels.fill_normal(bits, out, mean, std)
        whole = out.size - out.size % LANES
        for start, stop in pieces(whole):
            out[start:stop] = kernels.fill_normal(bits, np.empty(stop - start, np.float32), mean, std)
        if out.size > whole:
            out[-LANES:] = kernels.fill_normal(bits, np.empty(LANES, np.float32), mean, std)
        return out

    def paired_normals(self, count: int) -> NDArray[np.float64]:
        """The next ``count`` standard normals, made in pairs; the unused one of the last pair becomes ``spare``."""
        normals = np.empty(count, np.float64)
        self.spare = kernels.fill_pairs(self._source(count), normals, self.spare)
        return normals

    def gammas(self, shapes: NDArray[np.float64], single: bool) -> NDArray[np.float64]:
        """What :func:`rejection.gamma` gives for each shape parameter, natively. ``single``: they are float32's."""
        bits = self._source(int(np.count_nonzero(shapes > 0)))  # for others nothing is drawn
        found, self.spare = NATIVE_GAMMAS(bits, shapes, single, self.spare)
        return found  # type: ignore[no-any-return]

    def poissons(self, rates: NDArray[np.float64]) -> NDArray[np.float64]:
        """What :func:`rejection.poisson` gives for each rate, natively."""
        bits = self._source(int(np.count_nonzero((rates > 0) & (rates < np.inf))))  # for others nothing is drawn
        return NATIVE_POISSONS(bits, rates)  # type: ignore[no-any-return]

    def choices(self, rows: NDArray, samples: int) -> Any:
        """What :meth:`Generator._looked_up` finds, natively; NotImplemented, with nothing drawn, for bad weights."""
        found = NATIVE_CHOICES(self._bits or self._begin(), np.ascontiguousarray(rows), samples)
        self._untouched &= found is NotImplemented
        return found

    def mark(self) -> tuple[Any, bool]:
        """The present position in the words, for :meth:`rewind`."""
        return (self._bits or self._begin()).state, self._untouched

    def rewind(self, mark: tuple[Any, bool]) -> None:
        """Go back to a marked position."""
        self._bits.state, self._untouched = mark

    def save(self) -> NDArray[np.uint8]:
        """The state as PyTorch's ``get_rng_state`` lays it out: 5056 bytes."""
        state, untouched = self.mark()
        record = np.zeros((), _LAYOUT)
        position = state["state"]["pos"]
        record["seed"], record["seeded"], record["words"] = self.seed, 1, state["state"]["key"]
        # PyTorch counts the words left before the next 624, plus one; a fresh seed has none.
        record["left"], record["next"] = (1, 0) if untouched else (_WORDS + 1 - position, position)
        if self.spare is not None:
            record["spare"], record["has_spare"] = self.spare, 1
        if self.spare_single is not None:
            record["spare_single"], record["has_spare_single"] = self.spare_single, 1
        return np.frombuffer(bytearray(record.tobytes()), np.uint8)

    def load(self, state: NDArray[np.uint8]) -> None:
        """Continue from a saved state; refused, with nothing changed, where PyTorch refuses it."""
        if state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size != STATE_BYTES:
            raise RuntimeError(f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG "
                f"state size to be {state.size}")
        record = np.frombuffer(np.ascontiguousarray(state).tobytes(), _LAYOUT)[0]
        left, position = int(record["left"]), int(record["next"])
        if not (record["seeded"] and 0 < left <= _WORDS and position <= _WORDS):
            raise RuntimeError("Invalid mt19937 state")
        key = record["words"].astype(np.uint32)
        bits = self._bits or self._begin()
        bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": _WORDS if left == 1 else position}}
        self.seed = int(record["seed"])
        self._untouched = left == 1 and position == 0
        self.spare = float(record["spare"]) if record["has_spare"] else None
        self.spare_single = float(record["spare_single"]) if record["has_spare_single"] else None


class Doubles:
    """float64 uniforms one at a time, for algorithms that cannot know how many they need.

    Draws ahead in growing blocks and, at the end of the ``with`` block, puts the stream right behind the last number
    that was used.
    """

    __slots__ = ("_block", "_mark", "_next", "_stream")

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._block: list[float] = []
        self._next = 0
        self._mark: Any = None

    def __enter__(self) -> Doubles:
        return self

    def __call__(self) -> float:
        index = self._next
        block = self._block
        if index == len(block):
            self._mark = self._stream.mark()
            block = self._block = self._stream.doubles(min(max(2 * index, 32), 4096)).tolist()
            index = 0
        self._next = index + 1
        return block[index]

    def __exit__(self, *exc_info: object) -> None:
        if self._mark is not None:
            self._stream.rewind(self._mark)
            self._stream.words(2 * self._next)


# -- normal numbers, by the transform of Box and Muller (1958) ---------------------------------------------------------


def normal_pair(radial: float, angular: float) -> tuple[float, float]:
    """Two independent standard normals from two uniforms."""
    radius = sqrt(-2.0 * log1p(-radial))
    angle = 2.0 * pi * angular
    return radius * cos(angle), radius * sin(angle)
