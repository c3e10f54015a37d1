"""Comparisons, tests, and the arithmetic of truth values and bits; nothing here has a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from .operator import Array, family
from .refusals import unsupported

operator, composite = family("torch", "Tensor", layout="elementwise")


def _pair(name: str, text: str, ufunc: Any, refused: str = "", label: str = "", **options: Any) -> None:
    """Declare ``ufunc`` of two tensors; PyTorch's kernel ``label`` refuses numbers of the kinds ``refused``."""
    kernel = getattr(K, ufunc.__name__, ufunc)

    def forward(input: Array, other: Array):
        d = (input if hasattr(input, "dtype") else other).dtype  # one of them may be a Python number
        if d.kind in refused:
            raise unsupported(label or f"{name}_cpu", d)
        return kernel(input, other)

    forward.__name__, forward.__doc__ = name, text
    operator(name=name, inplace=True, **options)(forward)


_order: dict[str, Any] = dict(promote="elementwise", scalars=("other",))
_bits: dict[str, Any] = dict(promote="elementwise", refused="fcVW")
_integers: dict[str, Any] = dict(promote="elementwise", refused="bfcVW", scalars="")
_pair("eq", "``input == other``, elementwise.", np.equal, kernel=K.equal, **_order)
_pair("ne", "``input != other``, elementwise.", np.not_equal, kernel=K.not_equal, aliases=("not_equal",), **_order)
_pair("lt", "``input < other``, elementwise.", np.less, "c", kernel=K.less, aliases=("less",), **_order)
_pair("le", "``input <= other``, elementwise.", np.less_equal, "c", kernel=K.less_equal, aliases=("less_equal",),
    **_order)
_pair("gt", "``input > other``, elementwise.", np.greater, "c", kernel=K.greater, aliases=("greater",), **_order)
_pair("ge", "``input >= other``, elementwise.", np.greater_equal, "c", kernel=K.greater_equal,
    aliases=("greater_equal",), **_order)
_pair("logical_and", "Whether both are nonzero.", np.logical_and, kernel=K.logical_and)
_pair("logical_or", "Whether at least one is nonzero.", np.logical_or, kernel=K.logical_or)
_pair("logical_xor", "Whether exactly one is nonzero.", np.logical_xor, kernel=K.logical_xor)
_pair("bitwise_and", "``input & other`` of integers or truth values.", np.bitwise_and, **_bits)
_pair("bitwise_or", "``input | other`` of integers or truth values.", np.bitwise_or, **_bits)
_pair("bitwise_xor", "``input ^ other`` of integers or truth values.", np.bitwise_xor, **_bits)
_pair("bitwise_left_shift", "``input << other``, elementwise; zero once every bit has left.", np.left_shift,
    label="lshift_cpu", **_bits)
_pair("bitwise_right_shift", "``input >> other``, elementwise; the sign is kept.", np.right_shift, label="rshift_cpu",
    **_bits)
_pair("gcd", "Greatest common divisor of integers, elementwise.", np.gcd, **_integers)
_pair("lcm", "Least common multiple of integers, elementwise.", np.lcm, **_integers)


@operator(kernel=K.logical_not, inplace=True)
def logical_not(input: Array):
    """Whether each element is zero."""
    return np.logical_not(input)


@operator(inplace=True)
def bitwise_not(input: Array):
    """``~input``: the complement of integers, the opposite of truth values."""
    if input.dtype.kind in "fcVW":
        raise unsupported("bitwise_not_cpu", input.dtype)
    return np.invert(input)


@operator(kernel=K.isnan)
def isnan(input: Array):
    """Whether each element is NaN."""
    return np.isnan(input)


@operator(kernel=K.isinf)
def isinf(input: Array):
    """Whether each element is infinite."""
    return np.isinf(input)


@operator(kernel=K.isfinite)
def isfinite(input: Array):
    """Whether each element is neither infinite nor NaN."""
    return np.isfinite(input)


def _is_infinity(name: str, input: Any, infinity: float) -> Any:
    if input.dtype.kind == "c":
        raise RuntimeError(f"{name} does not support complex inputs.")
    return input == infinity if input.dtype.kind in "fV" else np.zeros(input.shape, bool)


@operator()
def isposinf(input: Array):
    """Whether each element is plus infinity."""
    return _is_infinity("isposinf", input, np.inf)


@operator()
def isneginf(input: Array):
    """Whether each element is minus infinity."""
    return _is_infinity("isneginf", input, -np.inf)


@operator()
def isreal(input: Array):
    """Whether each element's imaginary part is zero."""
    return np.isreal(input)


@operator()
def isclose(input: Array, other: Array, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether ``abs(input - other) <= atol + rtol * abs(other)``; infinities are close to themselves.

    ``equal_nan``: whether NaN is close to NaN. ``RuntimeError`` if the types differ.
    """
    if input.dtype != other.dtype:
        raise RuntimeError(f"{dt.scalar_name(input.dtype)} did not match {dt.scalar_name(other.dtype)}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    d = input.dtype
    close = input == other
    if equal_nan and d.kind in "fcVW":
        close = close | (np.isnan(input) & np.isnan(other))
    if rtol == 0 and atol == 0:
        return close
    if d.kind in "iub":
        input, other = input.astype(np.float64), other.astype(np.float64)
    gap = np.absolute(input - other)
    return close | (np.isfinite(gap) & (gap <= atol + np.absolute(rtol * other)))
