"""Elementary functions: powers and roots, exponentials and logarithms, circular and hyperbolic functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import as_array, has_memory
from .operator import Array, family
from .pointwise import conjugate, flat_gradient, from_one, to_common_dtype
from .refusals import unsupported
from .steps import Steps, in_a_row

operator, composite = family("torch", "Tensor", pointwise=True)
function, _ = family("torch", "Tensor", pointwise=True, promote="float", inplace=True)
special, _ = family("torch", "Tensor", "special", pointwise=True, promote="float", inplace=True)
activation, _ = family("torch", "Tensor", "functional", pointwise=True, promote="float", inplace=True)

LN2, LN10 = 0.6931471805599453, 2.302585092994046


def _pow_input(F: Any, g: Any, input: Any, exponent: Any) -> Any:
    # one number: its small powers are worth a test
    if not getattr(exponent, "shape", ()) and (F.raw or not hasattr(exponent, "shape")):
        # recorded it is a power like others: that of 1 has a history, and so has the second derivative
        if exponent == 2 and F.raw:
            return F.mul(g, F.mul(conjugate(F, input), 2))
        if exponent == 0:
            return flat_gradient(F, g)
        d = F.dtype_of(g)
        if dt.is_half(d):  # which numbers would widen
            slope = F.mul(F.cast(F.pow(input, exponent - 1), d), exponent)
            return F.mul(g, slope if F.dtype_of(slope) == d else F.cast(slope, d))
        return g * conjugate(F, exponent * F.pow(input, exponent - 1))
    return F.where(exponent == 0, 0, g * conjugate(F, exponent * input ** (exponent - 1)))


def _pow_exponent(F: Any, g: Any, input: Any, exponent: Any, result: Any) -> Any:
    if not hasattr(input, "dtype"):
        if not input:
            return g * F.where(_not_negative(F, exponent), 0, conjugate(F, result * -np.inf))
        d = F.dtype_of(result)
        if d.itemsize == 2:
            return g * F.cast(F.cast(result, np.dtype(np.float32)) * np.log(input).item(), d)
        return g * conjugate(F, result * F.log(F.constant(as_array(input, d))))
    d = F.dtype_of(result)  # of log too: that of a negative number is complex, that of a half would be rounded
    base = F.cast(input, d) if F.dtype_of(input) != d else input
    return g * F.where((input == 0) & _not_negative(F, exponent), 0, conjugate(F, result * F.log(base)))


def _not_negative(F: Any, x: Any) -> Any:
    if not hasattr(x, "dtype"):
        return F.constant(as_array(x.real >= 0))
    return (F.real(x) if F.is_complex(x) else x) >= 0


_DIRECT: dict[float, Any] = {0.5: K.sqrt, 2: K.square, 3: K.cube}
_STEPS = (0.5, 2, 3, -2, -0.5)  # powers that are other operators, in PyTorch


def _power(a: Any, b: Any) -> Any:
    """``a ** b``. NumPy is slow at negative floats: an integer power is that of ``|a|``, but for a sign. Small powers
    of complex numbers are products.
    """
    if type(b) in (int, float, complex) and b in (2, 3, -1, -2) and a.dtype.kind == "c":
        square = K.multiply(a, a) if b != -1 else a
        return square if b == 2 else K.multiply(square, a) if b == 3 else K.reciprocal(square)
    if type(b) in (int, float) and a.dtype.kind == "f":
        out = K.target(a)
        if b in _DIRECT:
            return _DIRECT[b](a, out=out)
        if b in (-1, -2) and a.dtype.char != "e":  # which rounds once
            return K.reciprocal(a if b == -1 else K.multiply(a, a), out=out)
        if b != 1 and b == b // 1:
            size = K.power(K.absolute(a), b)
            return K.copysign(size, a) if b % 2 else size
    if type(b) in (int, float) and b in _STEPS and a.dtype.kind == "V":  # each step is rounded, in PyTorch
        if b == -0.5:
            return K.cast(1 / np.sqrt(K.cast(a, np.dtype(np.float32))), a.dtype)
        square = K.multiply(a, a) if b != 0.5 else K.sqrt(a)
        return K.multiply(square, a) if b == 3 else np.ones((), a.dtype) / square if b == -2 else square
    return K.power(a, b) if type(b) is float and b not in (0.5, 1, 2) and a.dtype.char in "fd" else a**b


@operator(grad=dict(input=_pow_input, exponent=_pow_exponent), scalars="one", wirtinger=True, kernel=_power,
    inplace=True, without=dict(exponent="PowBackward0", input="PowBackward2"), node="PowBackward1")
def pow(input: Array, exponent: Array):
    """``input ** exponent``, broadcast. Either may be a number.

    >>> torch.pow(torch.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    if has_memory(input) and input.dtype.kind == "V" and type(exponent) in (int, float) and exponent in _STEPS:
        return _power(input, exponent)
    a, b = to_common_dtype(input, exponent)
    kind = a.dtype.kind
    if kind == "b":
        if exponent is True:
            return input
        raise unsupported("pow", a.dtype)
    if kind in "iu" and not has_memory(exponent) and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if kind == "i" and b.size and b.min() < 0:
        inverse = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
        return np.where(b < 0, inverse, np.power(a, np.maximum(b, 0))).astype(a.dtype, copy=False)
    if has_memory(exponent) or kind == "V":
        return K.power(a, b)
    return _power(a, exponent)


def _power_plan(shape: tuple[int, ...], exponent: Any, kind: str) -> Steps | None:
    return in_a_row([("cast", dt.of(dt.F64)), ("pow", exponent)]) if kind == "f" else None


@composite(plan=(("cast", "pow"), _power_plan, "kind"))
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


def _rsqrt_back(F: Any, g: Any, result: Any) -> Any:
    return K.rsqrt_grad(g, result) if F.raw and result.dtype.kind in "fV" else g * -0.5 * result**3


def _rsqrt(x: Any, out: Any = None) -> Any:
    return K.reciprocal(K.sqrt(x), out=out) if x.dtype.kind == "c" else K.rsqrt(x, out=out)


@function(grad=dict(input=_rsqrt_back), kernel=_rsqrt)
def rsqrt(input: Array):
    """``1 / sqrt(input)``."""
    return _rsqrt(input)


@operator(grad=dict(input=lambda F, g, input: F.mul(g, F.mul(input if F.raw else input**1, 2))), kernel=K.square,
    inplace=True, node="PowBackward0")
def square(input: Array):
    """``input * input``."""
    return K.square(input) if input.dtype.kind != "b" else input.astype(np.int64)


def _elementary(name: str, text: str, rule: Any, kernel: str = "", declare: Any = function, **options: Any) -> None:
    """Declare what the kernel of the same name computes, or ``kernel``, whose name is then the function's other one."""

    def forward(input: Array):
        return getattr(K, kernel or name)(input)

    forward.__name__, forward.__doc__ = name, text
    aliases = (kernel,) if kernel else ()
    declare(grad=dict(input=rule), name=name, kernel=getattr(K, kernel or name), aliases=aliases, **options)(forward)


_elementary("sqrt", "Square root; NaN below zero.", lambda F, g, result: F.div(g, F.mul(result, 2)))
_elementary("reciprocal", "``1 / input``.", lambda F, g, result: F.mul(F.neg(g), F.mul(result, result)))
_elementary("exp", "``e ** input``.", lambda F, g, result: F.mul(g, result))
_elementary("exp2", "``2 ** input``.", lambda F, g, result: F.mul(F.mul(g, result), LN2), declare=special)
_elementary("expm1", "``e ** input - 1``, exact near zero.", lambda F, g, result: F.mul(g, F.add(result, 1)),
    declare=special)
_elementary("log", "Natural logarithm; NaN below zero, minus infinity at zero.",
    lambda F, g, input: F.div(g, input))
_elementary("log2", "Logarithm to base 2.", lambda F, g, input: F.div(g, F.mul(input, LN2)))
_elementary("log10", "Logarithm to base 10.", lambda F, g, input: F.div(g, F.mul(input, LN10)))
_elementary("log1p", "``log(1 + input)``, exact near zero.", lambda F, g, input: F.div(g, F.add(input, 1)),
    declare=special, node="Log1PBackward0")


# -- circular and hyperbolic functions -------------------------------------------------------------------------------


def _steepness(F: Any, input: Any) -> Any:
    return F.rsqrt(1 - input * input if F.raw else -input * input + 1)


def _acosh_grad(F: Any, g: Any, input: Any) -> Any:
    if F.is_complex(input):  # one root would leave the principal branch; conjugated last for the sake of signed zeros
        return g * F.conj(F.rsqrt(input - 1) * F.rsqrt(input + 1))
    return g * F.rsqrt(input * input - 1)


_elementary("sin", "Sine, of radians.", lambda F, g, input: F.mul(g, F.cos(input)))
_elementary("cos", "Cosine, of radians.", lambda F, g, input: F.mul(g, F.neg(F.sin(input))))
_elementary("tan", "Tangent, of radians.", lambda F, g, result: g * (F.square(result) + 1))
_elementary("asin", "Inverse of the sine; NaN outside [-1, 1].", lambda F, g, input: g * _steepness(F, input), "arcsin")
_elementary("acos", "Inverse of the cosine; NaN outside [-1, 1].", lambda F, g, input: g * -_steepness(F, input),
    "arccos")
_elementary("atan", "Inverse of the tangent, in (-pi/2, pi/2).", lambda F, g, input: g / (input * input + 1), "arctan")
_elementary("sinh", "Hyperbolic sine.", lambda F, g, input: F.mul(g, F.cosh(input)))
_elementary("cosh", "Hyperbolic cosine.", lambda F, g, input: F.mul(g, F.sinh(input)))
_elementary("tanh", "Hyperbolic tangent.", lambda F, g, result: F.tanh_grad(g, result), declare=activation,
    wirtinger=True)
_elementary("asinh", "Inverse of the hyperbolic sine.",
    lambda F, g, input: g * conjugate(F, F.rsqrt(F.square(input) + 1)), "arcsinh", wirtinger=True)
_elementary("acosh", "Inverse of the hyperbolic cosine; NaN below 1.", _acosh_grad, "arccosh", wirtinger=True)
_elementary("atanh", "Inverse of the hyperbolic tangent; NaN outside [-1, 1].",
    lambda F, g, input: g / from_one(F, F.square(input)), "arctanh")


@composite(places=(), raw=lambda g, result: K.tanh_grad(g, result), node="TanhBackwardBackward0", whole=("g", "result"),
    pointwise=True, grad=dict(
        grad_output=lambda F, g, result: F.tanh_grad(g, result),
        result=lambda F, g, grad_output, result: grad_output * (g * (result * -2))))
def tanh_grad(F, g, result):
    """``g`` times the (conjugated) derivative of ``tanh``, from its result."""
    slope = 1 - result * result
    return g * (F.conj(slope) if F.is_complex(slope) else slope)


@composite(places=(), raw=lambda g, result: K.sigmoid_grad(g, result), node="SigmoidBackwardBackward0",
    whole=("g", "result"), pointwise=True, grad=dict(
        grad_output=lambda F, g, result: F.sigmoid_grad(g, result),
        result=lambda F, g, grad_output, result: g * grad_output * (1 - result * 2)))
def sigmoid_grad(F, g, result):
    """``g`` times the (conjugated) derivative of ``sigmoid``, from its result."""
    slope = result * (1 - result)
    return g * (F.conj(slope) if F.is_complex(slope) else slope)


@activation(grad=dict(input=lambda F, g, result: F.sigmoid_grad(g, result)), wirtinger=True, kernel=K.sigmoid)
def sigmoid(input: Array):
    """The logistic function ``1 / (1 + exp(-input))``.

    >>> torch.sigmoid(torch.tensor([0.0]))
    tensor([0.5000])
    """
    return K.sigmoid(input)
