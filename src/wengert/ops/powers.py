"""Powers, roots, exponentials and logarithms."""

from __future__ import annotations

import operator as python
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import as_array, has_memory
from .operator import Array, family
from .pointwise import conjugate, flat_gradient, to_common_dtype
from .refusals import unsupported

operator, composite = family("torch", "Tensor", pointwise=True)
function, _ = family("torch", "Tensor", pointwise=True, promote="float", inplace=True)
special, _ = family("torch", "Tensor", "special", pointwise=True, promote="float", inplace=True)

LN2, LN10 = 0.6931471805599453, 2.302585092994046


def _pow_input(F: Any, g: Any, input: Any, exponent: Any) -> Any:
    # one number: its small powers are worth a test
    if not getattr(exponent, "shape", ()) and (F.raw or not hasattr(exponent, "shape")):
        # recorded it is a power like others: that of 1 has a history, and so has the second derivative
        if exponent == 2 and F.raw:
            return g * (conjugate(F, input) * 2)
        if exponent == 0:
            return flat_gradient(F, g)
        d = F.dtype_of(g)
        if d.kind == "V":  # which numbers would widen
            return g * F.cast(exponent * F.cast(F.pow(input, exponent - 1), d), d)
        return g * conjugate(F, exponent * input ** (exponent - 1))
    return F.where(exponent == 0, 0, g * conjugate(F, exponent * input ** (exponent - 1)))


def _pow_exponent(F: Any, g: Any, input: Any, exponent: Any, result: Any) -> Any:
    if not hasattr(input, "dtype"):
        if not input:
            return g * F.where(_not_negative(F, exponent), 0, conjugate(F, result * -np.inf))
        d = F.dtype_of(result)
        if d.itemsize == 2:
            return g * F.cast(F.cast(result, np.dtype(np.float32)) * np.log(input).item(), d)
        log = F.log(F.constant(as_array(input, F.dtype_of(result))))
        return g * conjugate(F, result * log)
    d = F.dtype_of(result)  # of log too: that of a negative number is complex, that of a half would be rounded
    base = F.cast(input, d) if F.dtype_of(input) != d else input
    return g * F.where((input == 0) & _not_negative(F, exponent), 0, conjugate(F, result * F.log(base)))


def _not_negative(F: Any, x: Any) -> Any:
    if not hasattr(x, "dtype"):
        return F.constant(as_array(x.real >= 0))
    return (F.real(x) if F.is_complex(x) else x) >= 0


def _power(a: Any, b: Any) -> Any:
    """``a ** b``. NumPy is slow at negative floats: an integer power is that of ``|a|``, but for a sign."""
    if type(b) in (int, float) and b not in (0.5, 1, 2) and b == b // 1 and a.dtype.kind == "f":
        if b == 3:
            return K.cube(a)
        size = K.absolute(a) ** b
        return K.copysign(size, a) if b % 2 else size
    if type(b) in (int, float) and b in (3, -2, -0.5) and a.dtype.kind == "V":  # each step is rounded, in PyTorch
        return (a * a * a if b == 3 else np.ones((), a.dtype) / (a * a) if b == -2
            else K.cast(1 / np.sqrt(K.cast(a, np.dtype(np.float32))), a.dtype))
    return python.pow(a, b)


@operator(
    grad=dict(input=_pow_input, exponent=_pow_exponent),
    scalars="one",
    wirtinger=True,
    kernel=_power,
    inplace=True,
    without=dict(exponent="PowBackward0", input="PowBackward2"), node="PowBackward1",
)
def pow(input: Array, exponent: Array):
    """``input ** exponent``, broadcast. Either may be a number.

    >>> torch.pow(torch.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    a, b = to_common_dtype(input, exponent)
    kind = a.dtype.kind
    if kind == "b":
        if exponent is True:
            return input
        raise unsupported("pow", a.dtype)
    if kind == "u" and type(exponent) is int and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if kind == "i" and b.size and b.min() < 0:
        if not has_memory(exponent):
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        inverse = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
        return np.where(b < 0, inverse, np.power(a, np.maximum(b, 0))).astype(a.dtype, copy=False)
    if kind == "V" and not has_memory(exponent) and exponent in (3, -2, -0.5):
        return _power(a, exponent)
    if has_memory(exponent) or kind in "cV":
        return np.power(a, b)
    return _power(a, exponent)


@composite
def float_power(F, input, exponent):
    """``input ** exponent`` in float64, or in complex128 where either is complex."""
    if isinstance(exponent, np.generic):
        exponent = exponent.item()
    if not (hasattr(input, "dtype") or hasattr(exponent, "dtype")):
        raise TypeError("float_power(): argument 'exponent' (position 2) must be Tensor, not "
            f"{type(exponent).__name__}")
    wide = dt.C128 if any(_is_complex(F, x) for x in (input, exponent)) else dt.F64
    return F.pow(*(F.cast(x, wide) if hasattr(x, "dtype") and F.dtype_of(x) != wide else x for x in (input, exponent)))


def _is_complex(F: Any, x: Any) -> Any:
    return F.is_complex(x) if hasattr(x, "dtype") else isinstance(x, complex)


@function(grad=dict(input=lambda F, g, result: g / (result * 2)), kernel=K.sqrt)
def sqrt(input: Array):
    """Square root; NaN below zero."""
    return np.sqrt(input)


@function(grad=dict(input=lambda F, g, result: g * -0.5 * result**3))
def rsqrt(input: Array):
    """``1 / sqrt(input)``."""
    return K.reciprocal(K.sqrt(input)) if input.dtype.kind == "c" else K.rsqrt(input)


@operator(grad=dict(input=lambda F, g, input: g * ((input if F.raw else input**1) * 2)), kernel=K.square,
          inplace=True, node="PowBackward0")
def square(input: Array):
    """``input * input``."""
    return np.square(input) if input.dtype.kind != "b" else input.astype(np.int64)


@function(grad=dict(input=lambda F, g, result: -g * (result * result)), kernel=K.reciprocal)
def reciprocal(input: Array):
    """``1 / input``."""
    return K.reciprocal(input)


@function(grad=dict(input=lambda F, g, result: F.mul(g, result)), kernel=K.exp)
def exp(input: Array):
    """``e ** input``."""
    return K.exp(input)


@special(grad=dict(input=lambda F, g, result: g * result * LN2), kernel=K.exp2)
def exp2(input: Array):
    """``2 ** input``."""
    return K.exp2(input)


@special(grad=dict(input=lambda F, g, result: g * (result + 1)), kernel=K.expm1)
def expm1(input: Array):
    """``e ** input - 1``, exact near zero."""
    return K.expm1(input)


@function(grad=dict(input=lambda F, g, input: g / input), kernel=K.log)
def log(input: Array):
    """Natural logarithm; NaN below zero, minus infinity at zero."""
    return K.log(input)


@function(grad=dict(input=lambda F, g, input: g / (input * LN2)), kernel=K.log2)
def log2(input: Array):
    """Logarithm to base 2."""
    return K.log2(input)


@function(grad=dict(input=lambda F, g, input: g / (input * LN10)), kernel=K.log10)
def log10(input: Array):
    """Logarithm to base 10."""
    return K.log10(input)


@special(grad=dict(input=lambda F, g, input: g / (input + 1)), kernel=K.log1p, node="Log1PBackward0")
def log1p(input: Array):
    """``log(1 + input)``, exact near zero."""
    return K.log1p(input)
