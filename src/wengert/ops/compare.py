"""Comparisons, tests, and the arithmetic of truth values and bits; nothing here has a gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .operator import family
from .pointwise import unsupported

if TYPE_CHECKING:
    from .operator import Array

operator, composite = family("torch", "Tensor")

_GENERAL = {"view": "maybe"}  # keeps operators without gradients off the short cut


@operator(**_GENERAL, promote="elementwise", kernel=np.equal, inplace=True)
def eq(input: Array, other: Array):
    """``input == other``, elementwise."""
    return np.equal(input, other)


@operator(**_GENERAL, promote="elementwise", kernel=np.not_equal, inplace=True, aliases=("not_equal",))
def ne(input: Array, other: Array):
    """``input != other``, elementwise."""
    return np.not_equal(input, other)


def _order(kernel, input, other, name):
    if input.dtype.kind == "c":
        raise unsupported(name, input.dtype)
    return kernel(input, other)


@operator(**_GENERAL, promote="elementwise", kernel=np.less, inplace=True, aliases=("less",))
def lt(input: Array, other: Array):
    """``input < other``, elementwise."""
    return _order(np.less, input, other, "lt_cpu")


@operator(**_GENERAL, promote="elementwise", kernel=np.less_equal, inplace=True, aliases=("less_equal",))
def le(input: Array, other: Array):
    """``input <= other``, elementwise."""
    return _order(np.less_equal, input, other, "le_cpu")


@operator(**_GENERAL, promote="elementwise", kernel=np.greater, inplace=True, aliases=("greater",))
def gt(input: Array, other: Array):
    """``input > other``, elementwise."""
    return _order(np.greater, input, other, "gt_cpu")


@operator(**_GENERAL, promote="elementwise", kernel=np.greater_equal, inplace=True, aliases=("greater_equal",))
def ge(input: Array, other: Array):
    """``input >= other``, elementwise."""
    return _order(np.greater_equal, input, other, "ge_cpu")


@operator(**_GENERAL, kernel=np.isnan)
def isnan(input: Array):
    """Whether each element is NaN."""
    return np.isnan(input)


def _bits(ufunc, input, other, name):
    if input.dtype.kind in "fcV":
        raise unsupported(name, input.dtype)
    return ufunc(input, other)


@operator(**_GENERAL, promote="elementwise", inplace=True)
def bitwise_and(input: Array, other: Array):
    """``input & other`` of integers or truth values."""
    return _bits(np.bitwise_and, input, other, "bitwise_and_cpu")


@operator(**_GENERAL, promote="elementwise", inplace=True)
def bitwise_or(input: Array, other: Array):
    """``input | other`` of integers or truth values."""
    return _bits(np.bitwise_or, input, other, "bitwise_or_cpu")


@operator(**_GENERAL, promote="elementwise", inplace=True)
def bitwise_xor(input: Array, other: Array):
    """``input ^ other`` of integers or truth values."""
    return _bits(np.bitwise_xor, input, other, "bitwise_xor_cpu")


@operator(**_GENERAL, inplace=True)
def bitwise_not(input: Array):
    """``~input``: the complement of integers, the opposite of truth values."""
    if input.dtype.kind in "fcV":
        raise unsupported("bitwise_not_cpu", input.dtype)
    return np.invert(input)
