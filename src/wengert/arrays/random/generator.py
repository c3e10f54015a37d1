"""The generator: one method per distribution, on raw arrays."""

from __future__ import annotations

from _thread import allocate_lock  # what threading.Lock is, without importing threading
from functools import partial
from math import isfinite, log1p, pi, prod, sqrt
from typing import TYPE_CHECKING, Self

import numpy as np

from .. import kernels
from ..plain.roundings import fused, fused_double
from . import integers
from .kinds import COUNTABLE, FLOATS, Kind, kind_of, narrow, require
from .stream import LANES, NATIVE_CHOICES, NATIVE_GAMMAS, NATIVE_POISSONS, PIECE, Doubles, Stream, entropy, pieces

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

    Shape = tuple[int, ...]

DEFAULT_SEED = 67280421310721
_WIDE_PIECE = PIECE // 4  # of float64 elements


def empty(count: int, dtype: np.dtype, out: NDArray | None = None) -> NDArray:
    """Memory to draw into, that of ``out`` if it is of the type and in order; a function that the profiler watches."""
    if type(out) is np.ndarray and out.dtype == dtype and out.flags.c_contiguous:
        return out.reshape(-1)
    return np.empty(count, dtype)


def in_memory_order(draw: Callable[[Shape], NDArray], shape: Shape, strides: Shape | None) -> NDArray:
    """``draw(shape)`` for an array with these strides: from the largest stride to the smallest, as PyTorch fills."""
    if strides is None:
        return draw(shape)
    order = sorted(range(len(shape)), key=lambda axis: -strides[axis])
    long = [axis for axis in order if shape[axis] != 1]
    if long == sorted(long):
        return draw(shape)
    back = sorted(range(len(order)), key=order.__getitem__)
    return draw(tuple(shape[axis] for axis in order)).transpose(back)


def _check_weights(rows: NDArray) -> None:
    """Name what is wrong with rows of weights, if anything is."""
    for fine, problem in (
        ((rows >= 0).all(), "encountering probability entry < 0"),  # NaN too
        ((rows < np.inf).all(), "encountering probability entry = infinity or NaN"),
        (rows.any(-1).all(), "sum of probabilities <= 0"),
    ):
        if not fine:
            raise RuntimeError(f"invalid multinomial distribution ({problem})")


class Generator:
    """A stream of random numbers, equal to that of PyTorch's CPU generator with the same seed.

    Methods return new arrays, filled in row-major order: 0-d arrays for the shape ``()``; empty shapes draw nothing.
    ``dtype`` is a NumPy dtype (or ``ml_dtypes``' bfloat16). Every method holds the generator's lock, so threads share a
    generator safely. Arguments are checked before anything is drawn; errors are PyTorch's.

    >>> import numpy as np
    >>> from wengert.arrays.random import Generator
    >>> generator = Generator().manual_seed(0)
    >>> generator.uniform((2, 2), np.float32)
    array([[0.4962566 , 0.7682218 ],
           [0.08847743, 0.13203049]], dtype=float32)
    >>> generator.randperm(5)
    array([3, 4, 0, 1, 2])
    """

    __slots__ = ("__weakref__", "_lock", "_stream")

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._stream = Stream(seed)
        self._lock = allocate_lock()

    # ---- seed and state

    def manual_seed(self, seed: int) -> Self:
        """Start anew from ``seed``, in [-2**63, 2**64); a negative one counts from 2**64 down."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = int(seed)
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError("Overflow when unpacking long long")
        with self._lock:
            self._stream.reseed(seed % (1 << 64))
        return self

    def seed(self) -> int:
        """Start anew from a seed of the operating system's, and return it."""
        seed = entropy()
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed that the stream started from."""
        return self._stream.seed

    def get_state(self) -> NDArray[np.uint8]:
        """The state as PyTorch's ``get_rng_state`` gives it: 5056 bytes, good for either library."""
        with self._lock:
            return self._stream.save()

    def set_state(self, state: NDArray[np.uint8]) -> Generator:
        """Continue from a state that this class or PyTorch saved."""
        with self._lock:
            self._stream.load(state)
        return self

    def clone_state(self) -> Generator:
        """Another generator at the same point of the same stream."""
        return type(self)().set_state(self.get_state())

    def _filled(self, shape: Shape, dtype: np.dtype, make: Callable[[int], NDArray], piece: int = _WIDE_PIECE,
            out: NDArray | None = None) -> NDArray:
        """An array made of what ``make`` draws, in pieces where it is large. Takes the lock."""
        count = prod(shape)
        with self._lock:
            if count <= piece:
                return make(count).astype(dtype, copy=False).reshape(shape)
            room = empty(count, dtype, out)
            for start, stop in pieces(count, piece):
                room[start:stop] = make(stop - start)
        return room.reshape(shape)

    # ---- uniform and normal

    def uniform(self, shape: Shape, dtype: DTypeLike, low: float = 0.0, high: float = 1.0, *,
            out: NDArray | None = None) -> NDArray:
        """Uniform in ``[low, high)``, of a floating or complex type (both parts).

        ``out`` is memory that many numbers may be drawn into, where it suits; the result is what is returned.
        """
        kind = kind_of(dtype)
        if kind.part:
            return _joined(self.uniform((*shape, 2), kind.part, low, high), kind)
        require(kind, FLOATS, "check_uniform_bounds")
        draw = self._stream.doubles if kind.wide else self._stream.singles
        if low == 0.0 and high == 1.0 and not kind.half:
            return self._filled(shape, kind.dtype, draw, PIECE, out)
        _check_uniform(kind, low, high)
        bottom, top = (low, high) if kind.wide else (np.float32(low), np.float32(high))
        width = float(top - bottom)

        def make(count: int) -> NDArray:
            if not kind.half:
                return self._stream.between(np.empty(count, kind.dtype), float(bottom), width)
            values = fused(draw(count), width, float(bottom)).astype(kind.dtype)
            values[values == kind.dtype.type(high)] = low  # what rounds up to the open end goes to the closed one
            return values

        return self._filled(shape, kind.dtype, make, out=out)

    def uniform_into(self, out: NDArray, low: float, high: float) -> None:
        """Fill an array of float32 or float64, in order in memory, with uniform numbers in ``[low, high)``."""
        kind = kind_of(out.dtype)
        _check_uniform(kind, low, high)
        bottom, top = (low, high) if kind.wide else (np.float32(low), np.float32(high))
        with self._lock:
            self._stream.between(out, float(bottom), float(top - bottom))

    def normal_into(self, out: NDArray, mean: float, std: float) -> None:
        """Fill an array of float32 or float64, in order in memory, with normal numbers."""
        if not std >= 0.0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        if out.size < LANES:
            numbers = self._normals(out.size)
            out[...] = (numbers if std == 1.0 and mean == 0.0 else fused_double(numbers, std, mean)).reshape(out.shape)
            return
        with self._lock:
            self._stream.normals(out.reshape(-1), mean, std)

    def normal(self, shape: Shape, dtype: DTypeLike, mean: float = 0.0, std: float = 1.0, *, contiguous: bool = True,
            out: NDArray | None = None) -> NDArray:
        """Normal, of a floating or complex type (``std`` is then that of the complex number, shared by its parts).

        ``contiguous=False`` draws as for a tensor whose memory has gaps or another order: in pairs, never by sixteen.
        ``out`` as for ``uniform``.
        """
        kind = kind_of(dtype)
        if not std >= 0.0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        if kind.part:
            return _joined(self.normal((*shape, 2), kind.part, mean, std / sqrt(2.0), contiguous=contiguous), kind)
        require(kind, FLOATS, "normal_kernel_cpu")
        count = prod(shape)
        if contiguous and count >= LANES:
            room = empty(count, kind.dtype, out)
            with self._lock:
                self._stream.normals(room, mean, std)
            return room.reshape(shape)
        return narrow(fused_double(self._normals(count), std, mean), kind.dtype).reshape(shape)

    def log_normal(self, shape: Shape, dtype: DTypeLike, mean: float = 1.0, std: float = 2.0) -> NDArray:
        """The exponential of a normal number."""
        kind = kind_of(dtype)
        if not std > 0.0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
        require(kind, FLOATS, "log_normal_cpu")
        with np.errstate(over="ignore"):
            values = np.exp(fused_double(self._normals(prod(shape)), std, mean))
        return narrow(values, kind.dtype).reshape(shape)

    def _normals(self, count: int) -> NDArray[np.float64]:
        with self._lock:
            return self._stream.paired_normals(count)

    # ---- integers

    def randint(self, low: int, high: int, shape: Shape, dtype: DTypeLike = np.int64) -> NDArray:
        """Integers in ``[low, high)``, held by any real type."""
        return self.random(shape, dtype, low, high)

    def random(self, shape: Shape, dtype: DTypeLike, low: int | None = None, high: int | None = None) -> NDArray:
        """Integers over the type's range; in ``[low, high)``; or, with ``low`` alone, from it to the type's greatest.

        Floating types count as far as they hold every integer.
        """
        kind, count = kind_of(dtype), prod(shape)
        with self._lock:
            if low is None and high is None:
                values = integers.full(self._stream, count, kind)
            else:
                values = integers.between(self._stream, count, kind, low or 0, high)
        return values.reshape(shape)

    def randperm(self, n: int, dtype: DTypeLike = np.int64) -> NDArray:
        """The integers below ``n`` in a random order."""
        kind = kind_of(dtype)
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
        require(kind, COUNTABLE, "randperm")
        if not kind.floating and n - 1 > kind.greatest:
            raise RuntimeError(f"value cannot be converted to type {kind.name}_t without overflow")
        if kind.floating and kind.name != "bfloat16" and n > (1 << kind.digits) + 1:
            bound = "2049" if kind.half else f"2^{kind.digits}+1"
            raise RuntimeError(f"n cannot be greater than {bound} for {kind.title} type.")
        with self._lock:
            order = integers.permutation(self._stream, n)
        return narrow(order, kind.dtype)

    # ---- yes or no

    def bernoulli(self, shape: Shape, p: float, dtype: DTypeLike = np.float32) -> NDArray:
        """One with probability ``p``, else zero."""
        kind = kind_of(dtype)
        if not 0.0 <= p <= 1.0:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        require(kind, ("bool", *COUNTABLE), "bernoulli_scalar_cpu_")
        least_miss = -int(-p * (1 << 53) // 1)  # u < p for u = k / 2**53, in integers
        if kind.dtype == np.bool_:
            with self._lock:
                return self._stream.below(np.empty(shape, np.bool_), least_miss)
        return self._filled(shape, kind.dtype, lambda count: self._stream.mantissas(count) < least_miss)

    def bernoulli_array(self, p: NDArray, dtype: DTypeLike | None = None, strides: Shape | None = None) -> NDArray:
        """One with the probability given for each element, else zero; of ``p``'s type unless another is given.

        ``strides``: those of the array to be filled, where that is not in row-major order.
        """
        given = kind_of(p.dtype)
        kind = given if dtype is None else kind_of(dtype)
        require(kind, ("bool", *COUNTABLE), "bernoulli_tensor_cpu_self_")
        require(given, FLOATS, "bernoulli_tensor_cpu_p_")
        if not kernels.within(p, 0, 1):  # nor is NaN
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
        single = np.dtype(np.float64 if given.wide else np.float32)
        return np.asarray(in_memory_order(lambda shape: self.uniform(shape, single), p.shape, strides) < p, kind.dtype)

    def dropout_mask(self, shape: Shape, keep_probability: float, strides: Shape | None = None) -> NDArray[np.bool_]:
        """Which elements dropout keeps. ``strides``: those of its input, where that is not in row-major order.

        Nothing is drawn where all elements are kept, or none.
        """
        if not 0.0 < keep_probability < 1.0:
            return np.full(shape, keep_probability > 0.0)
        return in_memory_order(lambda shape: self.bernoulli(shape, keep_probability, np.bool_), shape, strides)

    # ---- choosing

    def multinomial(self, p: NDArray, num_samples: int, replacement: bool = False) -> NDArray[np.int64]:
        """Indices drawn in proportion to ``p``: one row of weights, or one per row of a matrix.

        Without replacement, or for a single draw, the ``num_samples`` greatest of ``p / exponential`` are taken, the
        greatest first; otherwise a uniform is looked up in the cumulated weights.
        """
        kind = kind_of(p.dtype)
        if not kind.floating:
            raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {kind.title}")
        if p.ndim not in (1, 2):
            raise RuntimeError("prob_dist must be 1 or 2 dim")
        if num_samples <= 0:
            raise RuntimeError("cannot sample n_sample <= 0 samples")
        if not replacement and num_samples > p.shape[-1]:
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        if p.shape[-1] > 1 << 24:
            raise RuntimeError("number of categories cannot exceed 2^24")
        if p.size == 0:
            return np.empty((*p.shape[:-1], num_samples), np.int64)
        if replacement and num_samples > 1:
            return self._looked_up(p, num_samples)
        if not ((p >= 0) & (p < np.inf)).all():
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if not p.any(-1).all():
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        rivals = in_memory_order(lambda shape: self.exponential(shape, p.dtype), p.shape, p.strides)
        with np.errstate(all="ignore"):
            scores = p / rivals
        if num_samples == 1:
            return np.asarray(scores.argmax(-1))[..., None]
        rows = scores.reshape(-1, p.shape[-1])
        chosen = (kernels.top_places(rows, num_samples, False) if num_samples <= 64
            else kernels.sorted_places(rows, True)[:, :num_samples])
        return np.ascontiguousarray(chosen).reshape(*p.shape[:-1], num_samples)

    def _looked_up(self, p: NDArray, num_samples: int) -> NDArray[np.int64]:
        rows = p.reshape(-1, p.shape[-1])
        rows = rows if rows.dtype == np.float64 else rows.astype(np.float32, copy=False)
        if NATIVE_CHOICES is not None:
            with self._lock:
                found = self._stream.choices(rows, num_samples)
            if found is not NotImplemented:
                return found.reshape(*p.shape[:-1], num_samples)
        with np.errstate(all="ignore"):
            levels = np.cumsum(rows, axis=-1, dtype=rows.dtype)
            totals = levels[:, -1:].copy()
            if not (rows.min() >= 0 and totals.min() > 0 and totals.max() < np.inf):
                _check_weights(rows)
            levels /= totals
            if not totals.max() < np.inf:
                levels[np.isnan(levels)] = np.inf  # of sums that overflowed: nothing is above it
        levels[:, -1] = 1
        uniforms = self.uniform((len(rows), num_samples), np.float64)
        chosen: NDArray[np.int64] = kernels.search_rows(levels.astype(np.float64), uniforms, False)
        return np.ascontiguousarray(chosen).reshape(*p.shape[:-1], num_samples)

    # ---- other distributions

    def exponential(self, shape: Shape, dtype: DTypeLike, lambd: float = 1.0) -> NDArray:
        """Waiting times at rate ``lambd``."""
        kind = kind_of(dtype)
        if not lambd > 0.0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
        _require_continuous(kind, "Exponential", kind.title)
        return self._inverted(shape, kind, lambda u: (-1.0 / lambd) * np.log1p(-u))

    def cauchy(self, shape: Shape, dtype: DTypeLike, median: float = 0.0, sigma: float = 1.0) -> NDArray:
        """Cauchy (Lorentz) numbers."""
        kind = kind_of(dtype)
        if not sigma > 0.0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        _require_continuous(kind, "Cauchy", kind.c_name)
        return self._inverted(shape, kind, lambda u: fused_double(np.tan(pi * (u - 0.5)), sigma, median))

    def geometric(self, shape: Shape, p: float, dtype: DTypeLike = np.float32) -> NDArray:
        """The number of trials up to the first success."""
        kind = kind_of(dtype)
        if not 0.0 < p < 1.0:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        require(kind, COUNTABLE, "geometric_cpu")
        return self._inverted(shape, kind, lambda u: np.ceil(np.log(u) / log1p(-p)))

    def _inverted(self, shape: Shape, kind: Kind, transform: Callable[[NDArray], NDArray]) -> NDArray:
        """Map float64 uniforms through the inverse of a distribution function."""
        with np.errstate(all="ignore"):
            return self._filled(shape, kind.dtype,
                lambda count: narrow(transform(self._stream.doubles(count)), kind.dtype))

    def rrelu_slopes(self, x: NDArray, lower: float, upper: float) -> NDArray:
        """The slopes of a randomized leaky ReLU: uniform in ``[lower, upper)`` where ``x <= 0``, one elsewhere."""
        out = np.ones(x.shape, x.dtype)
        negative = x <= 0
        uniforms = self.uniform((int(np.count_nonzero(negative)),), np.float64)
        if x.dtype != np.float64:
            lower, upper = float(np.float32(lower)), float(np.float32(upper))
        out[negative] = narrow(uniforms * (upper - lower) + lower, x.dtype)  # PyTorch fuses no multiply-add here
        return out

    def poisson(self, rates: NDArray) -> NDArray:
        """Poisson numbers, one for each rate, of the rates' type."""
        require(kind_of(rates.dtype), FLOATS, "poisson_cpu")
        if not (rates >= 0).all():
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        if NATIVE_POISSONS is None:
            return self._one_by_one("poisson", rates)
        with self._lock:
            return narrow(self._stream.poissons(np.array(rates, np.float64, order="C")), rates.dtype)

    def standard_gamma(self, shapes: NDArray) -> NDArray:
        """Gamma numbers of unit scale, one for each shape parameter; never below the type's least normal number."""
        require(kind_of(shapes.dtype), ("float32", "float64"), "gamma_cpu")
        if NATIVE_GAMMAS is not None:
            with self._lock:
                drawn = self._stream.gammas(np.array(shapes, np.float64, order="C"), shapes.dtype == np.float32)
            values = narrow(drawn, shapes.dtype)
        else:
            values = self._one_by_one("gamma", shapes)
        return np.asarray(np.maximum(values, np.finfo(values.dtype).tiny))

    def binomial(self, counts: NDArray, probabilities: NDArray) -> NDArray:
        """Successes in each number of trials, at each probability (same type, broadcast together)."""
        require(kind_of(counts.dtype), ("float32", "float64"), "binomial_cpu")
        return self._one_by_one("binomial", *np.broadcast_arrays(counts, probabilities))

    def dirichlet(self, concentrations: NDArray) -> NDArray:
        """Points of the simplex: gamma numbers over their sum along the last axis."""
        require(kind_of(concentrations.dtype), ("float32", "float64"), "dirichlet")
        gammas = self.standard_gamma(concentrations.astype(np.float64))
        shares = (gammas / gammas.sum(-1, keepdims=True)).astype(concentrations.dtype)
        type_info = np.finfo(shares.dtype)
        return np.asarray(np.clip(shares, type_info.tiny, 1 - type_info.epsneg))

    def _one_by_one(self, name: str, *parameters: NDArray) -> NDArray:
        from . import rejection  # seldom needed

        sample: Callable[..., float] = getattr(rejection, name)
        first = parameters[0]
        if name == "gamma":
            sample = partial(sample, stream=self._stream, single=first.dtype == np.float32)
        lists = [parameter.astype(np.float64).ravel().tolist() for parameter in parameters]
        with self._lock, Doubles(self._stream) as uniform:
            values = [sample(*each, uniform) for each in zip(*lists)]
        return narrow(np.array(values, np.float64), first.dtype).reshape(first.shape)


def _joined(parts: NDArray, kind: Kind) -> NDArray:
    """Consecutive real numbers as complex ones."""
    return parts.view(kind.dtype).reshape(parts.shape[:-1])


def _require_continuous(kind: Kind, distribution: str, given: str) -> None:
    if not kind.floating:
        raise RuntimeError(f"{distribution} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {given}")


def _check_uniform(kind: Kind, low: float, high: float) -> None:
    for value, what in ((low, "from"), (high, "to")):
        if not (isfinite(value) and kind.least <= value <= kind.greatest):
            raise RuntimeError(f"{what} is out of bounds for {kind.c_name}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > kind.greatest:
        raise RuntimeError(f"uniform_ expects to-from <= std::numeric_limits<{kind.title}>::max(), but found "
            f"to={high:g} and from={low:g} which result in to-from to exceed the limit")
