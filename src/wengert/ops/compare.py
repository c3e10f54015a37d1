"""Comparisons, tests, and the arithmetic of truth values and bits; nothing here has a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from .operator import Array, family
from .refusals import unsupported

operator, composite = family("torch", "Tensor", layout="elementwise")


@operator(promote="elementwise", scalars=("other",), kernel=K.equal, inplace=True)
def eq(input: Array, other: Array):
    """``input == other``, elementwise."""
    return np.equal(input, other)


@operator(promote="elementwise", scalars=("other",), kernel=K.not_equal, inplace=True, aliases=("not_equal",))
def ne(input: Array, other: Array):
    """``input != other``, elementwise."""
    return np.not_equal(input, other)


def _order(kernel: Any, input: Any, other: Any, name: str) -> Any:
    if input.dtype.kind == "c":
        raise unsupported(name, input.dtype)
    return kernel(input, other)


@operator(promote="elementwise", scalars=("other",), kernel=K.less, inplace=True, aliases=("less",))
def lt(input: Array, other: Array):
    """``input < other``, elementwise."""
    return _order(np.less, input, other, "lt_cpu")


@operator(promote="elementwise", scalars=("other",), kernel=K.less_equal, inplace=True, aliases=("less_equal",))
def le(input: Array, other: Array):
    """``input <= other``, elementwise."""
    return _order(np.less_equal, input, other, "le_cpu")


@operator(promote="elementwise", scalars=("other",), kernel=K.greater, inplace=True, aliases=("greater",))
def gt(input: Array, other: Array):
    """``input > other``, elementwise."""
    return _order(np.greater, input, other, "gt_cpu")


@operator(promote="elementwise", scalars=("other",), kernel=K.greater_equal, inplace=True, aliases=("greater_equal",))
def ge(input: Array, other: Array):
    """``input >= other``, elementwise."""
    return _order(np.greater_equal, input, other, "ge_cpu")


@operator(kernel=K.isnan)
def isnan(input: Array):
    """Whether each element is NaN."""
    return np.isnan(input)


def _bits(ufunc: Any, input: Any, other: Any, name: str) -> Any:
    d = (input if hasattr(input, "dtype") else other).dtype  # one of them may be a Python number
    if d.kind in "fcVW":
        raise unsupported(name, d)
    return ufunc(input, other)


@operator(promote="elementwise", inplace=True)
def bitwise_and(input: Array, other: Array):
    """``input & other`` of integers or truth values."""
    return _bits(np.bitwise_and, input, other, "bitwise_and_cpu")


@operator(promote="elementwise", inplace=True)
def bitwise_or(input: Array, other: Array):
    """``input | other`` of integers or truth values."""
    return _bits(np.bitwise_or, input, other, "bitwise_or_cpu")


@operator(promote="elementwise", inplace=True)
def bitwise_xor(input: Array, other: Array):
    """``input ^ other`` of integers or truth values."""
    return _bits(np.bitwise_xor, input, other, "bitwise_xor_cpu")


@operator(inplace=True)
def bitwise_not(input: Array):
    """``~input``: the complement of integers, the opposite of truth values."""
    if input.dtype.kind in "fcVW":
        raise unsupported("bitwise_not_cpu", input.dtype)
    return np.invert(input)


# -- tests -----------------------------------------------------------------------------------------------------------


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


# -- truth values and bits -------------------------------------------------------------------------------------------


@operator(kernel=K.logical_and, inplace=True)
def logical_and(input: Array, other: Array):
    """Whether both are nonzero."""
    return np.logical_and(input, other)


@operator(kernel=K.logical_or, inplace=True)
def logical_or(input: Array, other: Array):
    """Whether at least one is nonzero."""
    return np.logical_or(input, other)


@operator(kernel=K.logical_xor, inplace=True)
def logical_xor(input: Array, other: Array):
    """Whether exactly one is nonzero."""
    return np.logical_xor(input, other)


@operator(kernel=K.logical_not, inplace=True)
def logical_not(input: Array):
    """Whether each element is zero."""
    return np.logical_not(input)


@operator(promote="elementwise", inplace=True)
def bitwise_left_shift(input: Array, other: Array):
    """``input << other``, elementwise; zero once every bit has left."""
    return _bits(np.left_shift, input, other, "lshift_cpu")


@operator(promote="elementwise", inplace=True)
def bitwise_right_shift(input: Array, other: Array):
    """``input >> other``, elementwise; the sign is kept."""
    return _bits(np.right_shift, input, other, "rshift_cpu")


def _integers(ufunc: Any, input: Any, other: Any, name: str) -> Any:
    if input.dtype.kind not in "iu":
        raise unsupported(name, input.dtype)
    return ufunc(input, other)


@operator(promote="elementwise", scalars="", inplace=True)
def gcd(input: Array, other: Array):
    """Greatest common divisor of integers, elementwise."""
    return _integers(np.gcd, input, other, "gcd_cpu")


@operator(promote="elementwise", scalars="", inplace=True)
def lcm(input: Array, other: Array):
    """Least common multiple of integers, elementwise."""
    return _integers(np.lcm, input, other, "lcm_cpu")
