"""The generator: one method per distribution, on raw arrays."""

from __future__ import annotations

from contextlib import contextmanager
from math import isfinite, log1p, pi, prod, sqrt
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from . import gaussian, integers, rejection, rounding
from .names import C_NAMES, TORCH_NAMES, limits
from .stream import PIECE, Doubles, Stream, entropy, pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Shape = tuple[int, ...]

DEFAULT_SEED = 67280421310721
_F32, _F64, _I64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
_PART = {"complex64": _F32, "complex128": _F64}
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_COUNTABLE = ("uint8", "int8", "int16", "int32", "int64", *_FLOATS)


def in_memory_order(draw: Callable[[Shape], NDArray], shape: Shape, strides: Shape) -> NDArray:
    """Draw for an array that does not lie in row-major order, as PyTorch fills it: in the order of its memory.

    Args:
        draw: makes an array of a shape, such as ``lambda s: generator.uniform(s, dtype)``.
        shape: the shape wanted.
        strides: the strides of the array to be filled, or to be followed (``empty_like`` keeps the order of its
            model). Only their order matters.

    Returns:
        An array of ``shape`` whose elements were drawn from the largest stride to the smallest.
    """
    order = sorted(range(len(shape)), key=lambda axis: -strides[axis])
    long = [axis for axis in order if shape[axis] != 1]
    if long == sorted(long):
        return draw(shape)
    back = sorted(range(len(order)), key=order.__getitem__)
    return draw(tuple(shape[axis] for axis in order)).transpose(back)


def _laid_out(draw: Callable[[Shape], NDArray], shape: Shape, strides: Shape | None) -> NDArray:
    return draw(shape) if strides is None else in_memory_order(draw, shape, strides)


class Generator:
    """A stream of random numbers, equal to that of PyTorch's CPU generator with the same seed.

    Methods return new arrays in row-major order, filled in that order: 0-d arrays for the shape ``()``; empty shapes
    draw nothing. ``dtype`` is a NumPy dtype (or ``ml_dtypes``' bfloat16). Every method holds the generator's lock, so
    threads share a generator safely. Arguments are checked before anything is drawn; errors are PyTorch's.

    >>> import numpy as np
    >>> from wengert.arrays.random import Generator
    >>> generator = Generator().manual_seed(0)
    >>> generator.uniform((2, 2), np.float32)
    array([[0.49625659, 0.7682218 ],
           [0.08847743, 0.13203049]], dtype=float32)
    >>> generator.randperm(5)
    array([0, 1, 4, 2, 3])
    """

    __slots__ = ("__weakref__", "_lock", "_stream")

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._stream = Stream(seed)
        self._lock = Lock()

    # ---- seed and state

    def manual_seed(self, seed: int) -> Generator:
        """Start anew from ``seed``, in [-2**63, 2**64); a negative one counts from 2**64 down."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError("Overflow when unpacking long long")
        with self._lock:
            self._stream.reseed(int(seed) % (1 << 64))
        return self

    def seed(self) -> int:
        """Start anew from a seed of the operating system's, and return it."""
        seed = entropy()
        with self._lock:
            self._stream.reseed(seed)
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
        twin = Generator(self._stream.seed)
        return twin.set_state(self.get_state())

    @contextmanager
    def fork(self) -> Iterator[Generator]:
        """Whatever the block draws or seeds, the stream continues afterwards as if it had not."""
        state = self.get_state()
        try:
            yield self
        finally:
            self.set_state(state)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self.get_state(),))

    # ---- uniform and normal

    def uniform(self, shape: Shape, dtype: Any, low: float = 0.0, high: float = 1.0) -> NDArray:
        """Uniform in ``[low, high)``, of a floating or complex type (both parts)."""
        dtype = np.dtype(dtype)
        if dtype.name in _PART:
            return _joined(self.uniform((*shape, 2), _PART[dtype.name], low, high), dtype)
        _check_uniform(dtype, low, high)
        count = prod(shape)
        out = np.empty(count, dtype)
        unit = low == 0.0 and high == 1.0
        wide = dtype == _F64
        draw = self._stream.doubles if wide else self._stream.singles
        bottom = np.float64(low) if wide else np.float32(low)
        width = high - bottom if wide else np.float32(high) - bottom
        with self._lock:
            for start, stop in pieces(count):
                values = draw(stop - start)
                out[start:stop] = values if unit else rounding.fused(values, width, bottom)
        if dtype.itemsize == 2:  # a value that rounds up to the open end is put at the closed one
            out[out == dtype.type(high)] = low
        return out.reshape(shape)

    def normal(
        self, shape: Shape, dtype: Any, mean: float = 0.0, std: float = 1.0, *, contiguous: bool = True
    ) -> NDArray:
        """Normal, of a floating or complex type (``std`` is then that of the complex number, shared by its parts).

        ``contiguous=False`` draws as for a tensor whose memory has gaps or another order: in pairs, never by sixteen.
        """
        dtype = np.dtype(dtype)
        if not std >= 0.0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        if dtype.name in _PART:
            part = _PART[dtype.name]
            return _joined(self.normal((*shape, 2), part, mean, std / sqrt(2.0), contiguous=contiguous), dtype)
        _require(dtype, _FLOATS, "normal_kernel_cpu")
        count = prod(shape)
        out = np.empty(count, dtype)
        with self._lock:
            if contiguous and count >= gaussian.LANES:
                gaussian.fill(self._stream, out, mean, std)
            else:
                out[...] = rounding.narrow(rounding.fused_double(gaussian.serial(self._stream, count), std, mean), dtype)
        return out.reshape(shape)

    def log_normal(self, shape: Shape, dtype: Any, mean: float = 1.0, std: float = 2.0) -> NDArray:
        """The exponential of a normal number."""
        dtype = np.dtype(dtype)
        if not std > 0.0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
        _require(dtype, _FLOATS, "log_normal_cpu")
        with self._lock:
            normals = gaussian.serial(self._stream, prod(shape))
        with np.errstate(over="ignore"):
            return rounding.narrow(np.exp(rounding.fused_double(normals, std, mean)), dtype).reshape(shape)

    # ---- integers

    def randint(self, low: int, high: int, shape: Shape, dtype: Any = _I64) -> NDArray:
        """Integers in ``[low, high)``, held by any real type."""
        return self.random(shape, dtype, low, high)

    def random(self, shape: Shape, dtype: Any, low: int | None = None, high: int | None = None) -> NDArray:
        """Integers over the type's range; in ``[low, high)``; or, with ``low`` alone, from it to the type's greatest.

        Floating types count as far as they hold every integer.
        """
        dtype = np.dtype(dtype)
        count = prod(shape)
        with self._lock:
            if low is None and high is None:
                values = integers.full(self._stream, count, dtype)
            else:
                values = integers.between(self._stream, count, dtype, low or 0, high)
        return values.reshape(shape)

    def randperm(self, n: int, dtype: Any = _I64) -> NDArray:
        """The integers below ``n`` in a random order."""
        dtype = np.dtype(dtype)
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
        _require(dtype, _COUNTABLE, "randperm")
        name = TORCH_NAMES[dtype.name]
        if dtype.kind in "ui" and n - 1 > np.iinfo(dtype).max:
            raise RuntimeError(f"value cannot be converted to type {dtype.name}_t without overflow")
        digits = {"float16": 11, "float32": 24, "float64": 53}.get(dtype.name)
        if digits is not None and n > (1 << digits) + 1:
            bound = "2049" if digits == 11 else f"2^{digits}+1"
            raise RuntimeError(f"n cannot be greater than {bound} for {name} type.")
        with self._lock:
            order = integers.permutation(self._stream, n)
        return order.astype(np.float32).astype(dtype) if dtype.itemsize == 2 else order.astype(dtype, copy=False)

    # ---- yes or no

    def bernoulli(self, shape: Shape, p: float, dtype: Any = _F32) -> NDArray:
        """One with probability ``p``, else zero."""
        dtype = np.dtype(dtype)
        _require(dtype, ("bool", *_COUNTABLE), "bernoulli_scalar_cpu_", 0.0 <= p <= 1.0, p)
        return self._hits(shape, p, dtype)

    def bernoulli_array(self, p: NDArray, dtype: Any = None, strides: Shape | None = None) -> NDArray:
        """One with the probability given for each element, else zero; of ``p``'s type unless another is given.

        ``strides``: those of the array to be filled, where that is not in row-major order.
        """
        dtype = p.dtype if dtype is None else np.dtype(dtype)
        _require(dtype, ("bool", *_COUNTABLE), "bernoulli_tensor_cpu_self_")
        _require(p.dtype, _FLOATS, "bernoulli_tensor_cpu_p_")
        if not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
        with self._lock:
            draw = self._stream.doubles if p.dtype == _F64 else self._stream.singles
            uniforms = _laid_out(lambda shape: draw(prod(shape)).reshape(shape), p.shape, strides)
        return np.asarray(uniforms < p, dtype)

    def dropout_mask(self, shape: Shape, keep_probability: float, strides: Shape | None = None) -> NDArray[np.bool_]:
        """Which elements dropout keeps. ``strides``: those of its input, where that is not in row-major order.

        Nothing is drawn where all elements are kept, or none.
        """
        if not 0.0 < keep_probability < 1.0:
            return np.full(shape, keep_probability > 0.0)

        return _laid_out(lambda shape: self._hits(shape, keep_probability, np.dtype(np.bool_)), shape, strides)

    def _hits(self, shape: Shape, p: float, dtype: np.dtype) -> NDArray:
        count = prod(shape)
        out = np.empty(count, dtype)
        least_miss = -int(-p * (1 << 53) // 1)  # u < p for u = k / 2**53, in integers
        with self._lock:
            for start, stop in pieces(count):
                out[start:stop] = self._stream.mantissas(stop - start) < least_miss
        return out.reshape(shape)

    # ---- choosing

    def multinomial(self, p: NDArray, num_samples: int, replacement: bool = False) -> NDArray[np.int64]:
        """Indices drawn in proportion to ``p``: one row of weights, or one per row of a matrix.

        Without replacement, or for a single draw, the ``num_samples`` greatest of ``p / exponential`` are taken;
        otherwise a uniform is looked up in the cumulated weights.
        """
        if p.dtype.name not in _FLOATS:
            got = TORCH_NAMES[p.dtype.name]
            raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {got}")
        if p.ndim not in (1, 2):
            raise RuntimeError("prob_dist must be 1 or 2 dim")
        if num_samples <= 0:
            raise RuntimeError("cannot sample n_sample <= 0 samples")
        if not replacement and num_samples > p.shape[-1]:
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        if p.shape[-1] > 1 << 24:
            raise RuntimeError("number of categories cannot exceed 2^24")
        if p.size == 0:
            return np.empty((*p.shape[:-1], num_samples), _I64)
        if replacement and num_samples > 1:
            return self._looked_up(p, num_samples)
        if not ((p >= 0) & (p < np.inf)).all():
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if (p.sum(-1) == 0).any():
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        rivals = in_memory_order(lambda shape: self.exponential(shape, p.dtype), p.shape, p.strides)
        with np.errstate(all="ignore"):
            scores = p / rivals
        if num_samples == 1:
            return np.asarray(scores.argmax(-1)[..., None], _I64)
        return np.argsort(-scores, axis=-1, kind="stable")[..., :num_samples].astype(_I64, copy=False)

    def _looked_up(self, p: NDArray, num_samples: int) -> NDArray[np.int64]:
        rows = p.reshape(-1, p.shape[-1])
        if not (rows >= 0).all():
            what = "encountering probability entry < 0"
            if np.isnan(rows).any():
                what = "encountering probability entry = infinity or NaN"
            raise RuntimeError(f"invalid multinomial distribution ({what})")
        if np.isinf(rows).any():
            raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
        cumulated = np.cumsum(rows, axis=-1, dtype=_F64 if rows.dtype == _F64 else _F32)
        total = cumulated[:, -1:].copy()
        if not (total > 0).all():
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        cumulated /= total
        cumulated[:, -1] = 1
        with self._lock:
            uniforms = self._stream.doubles(len(rows) * num_samples).reshape(len(rows), num_samples)
        chosen = np.empty(uniforms.shape, _I64)
        for row, levels in enumerate(cumulated.astype(_F64)):
            chosen[row] = np.searchsorted(levels, uniforms[row])
        return chosen.reshape(*p.shape[:-1], num_samples)

    # ---- other distributions

    def exponential(self, shape: Shape, dtype: Any, lambd: float = 1.0) -> NDArray:
        """Waiting times at rate ``lambd``."""
        dtype = np.dtype(dtype)
        if not lambd > 0.0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
        _require_continuous(dtype, "Exponential", TORCH_NAMES)
        return self._inverted(shape, dtype, lambda u: (-1.0 / lambd) * np.log1p(-u))

    def cauchy(self, shape: Shape, dtype: Any, median: float = 0.0, sigma: float = 1.0) -> NDArray:
        """Cauchy (Lorentz) numbers."""
        dtype = np.dtype(dtype)
        if not sigma > 0.0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        _require_continuous(dtype, "Cauchy", C_NAMES)
        return self._inverted(shape, dtype, lambda u: rounding.fused_double(np.tan(pi * (u - 0.5)), sigma, median))

    def geometric(self, shape: Shape, p: float, dtype: Any = _F32) -> NDArray:
        """The number of trials up to the first success."""
        dtype = np.dtype(dtype)
        if not 0.0 < p < 1.0:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        _require(dtype, _COUNTABLE, "geometric_cpu")
        return self._inverted(shape, dtype, lambda u: np.ceil(np.log(u) / log1p(-p)))

    def _inverted(self, shape: Shape, dtype: np.dtype, transform: Callable[[NDArray], NDArray]) -> NDArray:
        """Map float64 uniforms through the inverse of a distribution function."""
        count = prod(shape)
        out = np.empty(count, dtype)
        with self._lock, np.errstate(all="ignore"):
            for start, stop in pieces(count, PIECE // 2):
                out[start:stop] = rounding.narrow(transform(self._stream.doubles(stop - start)), dtype)
        return out.reshape(shape)

    def rrelu_slopes(self, x: NDArray, lower: float, upper: float) -> NDArray:
        """The slopes of a randomized leaky ReLU: uniform in ``[lower, upper)`` where ``x <= 0``, one elsewhere."""
        out = np.ones(x.shape, x.dtype)
        negative = x <= 0
        with self._lock:
            uniforms = self._stream.doubles(int(np.count_nonzero(negative)))
        if x.dtype != _F64:
            lower, upper = float(np.float32(lower)), float(np.float32(upper))
        out[negative] = rounding.narrow(uniforms * (upper - lower) + lower, x.dtype)  # two roundings in this place
        return out

    def poisson(self, rates: NDArray) -> NDArray:
        """Poisson numbers, one for each rate, of the rates' type."""
        _require(rates.dtype, _FLOATS, "poisson_cpu")
        if not (rates >= 0).all():
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        return self._one_by_one(rejection.poisson, rates)

    def standard_gamma(self, shapes: NDArray) -> NDArray:
        """Gamma numbers of unit scale, one for each shape parameter; never below the type's least normal number."""
        _require(shapes.dtype, ("float32", "float64"), "gamma_cpu")
        stream, single = self._stream, shapes.dtype == _F32
        values = self._one_by_one(lambda shape, uniform: rejection.gamma(shape, single, uniform, stream), shapes)
        return np.maximum(values, np.finfo(values.dtype).tiny)

    def binomial(self, counts: NDArray, probabilities: NDArray) -> NDArray:
        """Successes in each number of trials, at each probability (same type, broadcast together)."""
        _require(counts.dtype, ("float32", "float64"), "binomial_cpu")
        return self._one_by_one(rejection.binomial, *np.broadcast_arrays(counts, probabilities))

    def dirichlet(self, concentrations: NDArray) -> NDArray:
        """Points of the simplex: gamma numbers over their sum along the last axis."""
        _require(concentrations.dtype, ("float32", "float64"), "dirichlet")
        gammas = self.standard_gamma(concentrations.astype(_F64)).reshape(concentrations.shape)
        info = np.finfo(concentrations.dtype)
        shares = gammas / gammas.sum(-1, keepdims=True)
        return np.clip(shares.astype(concentrations.dtype), info.tiny, 1 - info.epsneg)

    def _one_by_one(self, sample: Callable[..., float], *parameters: NDArray) -> NDArray:
        first = parameters[0]
        lists = [parameter.astype(_F64).ravel().tolist() for parameter in parameters]
        with self._lock, Doubles(self._stream) as uniform:
            values = [sample(*each, uniform) for each in zip(*lists)]
        return rounding.narrow(np.array(values, _F64), first.dtype).reshape(first.shape)


def _restored(state: NDArray[np.uint8]) -> Generator:
    return Generator().set_state(state)


def _joined(parts: NDArray, dtype: np.dtype) -> NDArray:
    """Consecutive real numbers as complex ones."""
    return parts.view(dtype).reshape(parts.shape[:-1])


def _require(dtype: np.dtype, allowed: tuple[str, ...], kernel: str, valid_p: bool = True, p: float = 0.0) -> None:
    if not valid_p:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if dtype.name not in allowed:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{TORCH_NAMES[dtype.name]}'")


def _require_continuous(dtype: np.dtype, distribution: str, names: dict[str, str]) -> None:
    if dtype.name not in _FLOATS:
        raise RuntimeError(
            f"{distribution} distribution is a continuous probability distribution. dtype must be a floating point "
            f"but you specified {names.get(dtype.name, 'complex')}"
        )


def _check_uniform(dtype: np.dtype, low: float, high: float) -> None:
    _require(dtype, _FLOATS, "check_uniform_bounds")
    name = C_NAMES[dtype.name]
    least, greatest = limits(dtype)
    for value, what in ((low, "from"), (high, "to")):
        if not (isfinite(value) and least <= value <= greatest):
            raise RuntimeError(f"{what} is out of bounds for {name}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > greatest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{TORCH_NAMES[dtype.name]}>::max(), but found "
            f"to={high:g} and from={low:g} which result in to-from to exceed the limit"
        )
