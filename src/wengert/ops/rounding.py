"""Rounding, signs, and floating-point numbers taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import new_filled
from .elementary import LN2
from .operator import Array, family
from .pointwise import conjugate, flat_gradient, no_derivative, number, to_common_dtype
from .refusals import floating, real, unsupported, without

operator, composite = family("torch", "Tensor", pointwise=True)

_FLAT = dict(input=flat_gradient)


def _rounded(name: str, ufunc: Any, input: Any) -> Any:
    d = input.dtype
    if d.kind == "c" and name != "round":
        raise NotImplementedError(f"{name} is not supported for complex inputs")
    if d.kind in "cb":
        raise unsupported(f"{name}_vml_cpu", d)
    return input.copy() if d.kind in "iu" else ufunc(input)


@operator(grad=_FLAT, kernel=K.floor, inplace=True)
def floor(input: Array):
    """The largest integer not above each element."""
    return _rounded("floor", K.floor, input)


@operator(grad=_FLAT, kernel=K.ceil, inplace=True)
def ceil(input: Array):
    """The smallest integer not below each element."""
    return _rounded("ceil", K.ceil, input)


@operator(grad=_FLAT, kernel=K.trunc, inplace=True, aliases=("fix",))
def trunc(input: Array):
    """Each element without its fraction."""
    return _rounded("trunc", K.trunc, input)


@operator(grad=_FLAT, kernel=K.rint, inplace=True, shows=("decimals",))
def round(input: Array, *, decimals=None):
    """The nearest number with ``decimals`` digits after the point (before it when negative); ties to even."""
    return _to_decimals(input, decimals) if decimals else _rounded("round", K.rint, input)


def _to_decimals(input: Any, decimals: int) -> Any:
    scale = number(10.0 ** (decimals if decimals > 0 else -decimals), floating("round_cpu", input).dtype)
    return np.rint(input * scale) / scale if decimals > 0 else np.rint(input / scale) * scale


@composite(places=("special",))
def special_round(F, input, *, decimals=0):
    """``torch.round``."""
    return F.round(input, decimals=decimals)


@operator(grad=dict(input=lambda F, g: g), kernel=K.frac, inplace=True)
def frac(input: Array):
    """The fraction of each element, with its sign."""
    return K.frac(floating("frac_cpu", input))


def _sign(input: Any) -> Any:
    """-1, 0 or 1, and 0 for NaN; NumPy's own gives NaN."""
    d = input.dtype
    if d.kind in "fV":
        return K.signum(input)
    return input.copy() if d.kind == "b" else K.sign(input)


@operator(grad=_FLAT, kernel=K.signum, inplace=True)
def sign(input: Array):
    """-1, 0 or 1 (0 for NaN); of a truth value, itself."""
    return _sign(without("c", input, "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
        "torch.sgn instead.", NotImplementedError))


def _sgn_grad(F: Any, g: Any, input: Any, result: Any) -> Any:
    if not F.is_complex(result):
        return flat_gradient(F, g)
    length = F.abs(input)
    across = g - result * F.real(g * F.conj(result))
    return F.where(length == 0, 0, across / length)


@operator(grad=dict(input=_sgn_grad), push=lambda F, t, input, result: _sgn_grad(F, t, input, result), wirtinger=True,
          inplace=True)
def sgn(input: Array):
    """``sign`` for complex numbers: ``input / abs(input)``, and 0 at 0."""
    return _sign(input)


@operator(kernel=K.signbit)
def signbit(input: Array):
    """Whether each element is negative, minus zero included."""
    without("c", input, "signbit is not implemented for complex tensors.", NotImplementedError)
    return input < 0 if input.dtype.kind in "iub" else np.signbit(input)


@operator(grad=dict(input=no_derivative("heaviside"), values=no_derivative("heaviside")), inplace=True,
          node="NotImplemented")
def heaviside(input: Array, values: Array):
    """0 below zero, 1 above, ``values`` at zero; broadcast, no gradient defined."""
    return _stepped(input, _at_zero(input, values))


def _stepped(input: Any, values: Any) -> Any:
    if input.dtype.char in "fd":
        return K.heaviside(input, values)
    return np.where(input == 0, values, input > 0).astype(input.dtype, copy=False)


def _at_zero(input: Any, values: Any) -> Any:
    for x in (input, values):
        without("c", x, "heaviside is not yet implemented for complex tensors.")
    if values.dtype != input.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return values


@operator(grad=dict(input=lambda F, g, input, result: g * F.masked_fill(result / input, input == 0, 0),
                    other=flat_gradient), promote="float", scalars=("other",), kernel=K.copysign, inplace=True)
def copysign(input: Array, other: Array):
    """The magnitude of ``input`` with the sign of ``other``."""
    return K.copysign(real("copysign_cpu", input), other)


@operator(grad=dict(input=lambda F, g, input, other: g * (input != other), other=flat_gradient),
          promote="elementwise", kernel=K.nextafter, scalars="", inplace=True)
def nextafter(input: Array, other: Array):
    """The neighbour of ``input`` among the floating-point numbers, in the direction of ``other``."""
    return K.nextafter(floating("nextafter_cpu", input), other)


@operator(grad=dict(input=lambda F, g, exponent: g * F.exp2(F.cast(-exponent, F.dtype_of(g)))),
          outputs=("mantissa", "exponent"), nondifferentiable=("exponent",))
def frexp(input: Array):
    """``(mantissa, exponent)`` with ``input = mantissa * 2 ** exponent`` and the mantissa's magnitude in [0.5, 1)."""
    return np.frexp(without("biuc", input, "torch.frexp() only supports floating-point dtypes"))


def _ldexp_input(F: Any, g: Any, other: Any) -> Any:
    """PyTorch's rule takes a power of whole numbers in whole numbers: then a half is zero."""
    d = F.dtype_of(other)
    if d.kind in "biu":
        d = np.dtype(np.int64) if d.kind == "b" else d
        whole = F.where(other < 0, 0, F.cast(other, d))
        return g * F.where(other < 0, 0, F.pow(F.new_zeros(other, other.shape, d) + 2, whole))
    return g * conjugate(F, F.pow(2.0, other))


@operator(grad=dict(input=_ldexp_input, other=lambda F, g, result: g * conjugate(F, result) * LN2), wirtinger=True,
          inplace=True)
def ldexp(input: Array, other: Array):
    """``input * 2 ** other``."""
    return _times_power(input, other)


def _times_power(input: Any, other: Any) -> Any:
    if other.dtype.kind == "b" and input.dtype.kind in "fV":
        raise unsupported("ldexp_cpu_exp", other.dtype)
    if other.dtype.kind in "iu" and input.dtype.kind in "fVc":  # rounded once
        wide = np.dtype(np.float32) if dt.is_half(input.dtype) else input.dtype
        power = np.power(number(2, wide), K.cast(other, wide))
        return input * power if wide == input.dtype else K.cast(K.cast(input, wide) * power, input.dtype)
    if not other.ndim:
        input, other = to_common_dtype(input, other)
    if other.dtype.kind in "biu":
        other = other.astype(dt.default_float())
    input, power = to_common_dtype(input, np.power(number(2, other.dtype), other))
    return input * power


@operator(grad=dict(input=lambda F, g, input: F.where(F.isfinite(input), g, 0)), inplace=True)
def nan_to_num(input: Array, nan=0.0, posinf=None, neginf=None):
    """Replace NaN by ``nan`` and infinities by ``posinf`` and ``neginf``: by default the type's extremes."""
    top = dt.largest(input.dtype)
    instead = 0.0 if nan is None else nan, top if posinf is None else posinf, -top if neginf is None else neginf
    return _numbers(input, *instead)


def _numbers(input: Any, *instead: Any) -> Any:
    if input.dtype.kind == "c":
        if type(input) is np.ndarray and input.ndim and input.flags.c_contiguous:
            return K.nan_to_num(input.view(input.real.dtype), *instead).view(input.dtype)
        out = new_filled(input, np.empty, input.shape, input.dtype)
        out.real, out.imag = K.nan_to_num(input.real, *instead), K.nan_to_num(input.imag, *instead)
        return out
    return K.nan_to_num(input, *instead, out=K.target(input)) if input.dtype.kind in "fV" else input.copy()


@operator(grad=dict(input=lambda F, g: g * (np.pi / 180)), promote="float", inplace=True, node="Deg2RadBackward0")
def deg2rad(input: Array):
    """Degrees as radians."""
    return without("c", input, "deg2rad is not supported for complex tensors.") * number(np.pi / 180, input.dtype)


@operator(grad=dict(input=lambda F, g: g * (180 / np.pi)), promote="float", inplace=True, node="Rad2DegBackward0")
def rad2deg(input: Array):
    """Radians as degrees."""
    return without("c", input, "rad2deg is not supported for complex tensors.") * number(180 / np.pi, input.dtype)
