"""Elementwise arithmetic: sums, products, powers, roots, logarithms, extremes and choices."""

from __future__ import annotations

import operator as python
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from .operator import family

if TYPE_CHECKING:
    from .operator import Array

operator, composite = family("torch", "Tensor")

LN2, LN10 = 0.6931471805599453, 2.302585092994046


# -- helpers of the elementwise families --------------------------------------------------------------------------------


def unsupported(kernel: str, d: Any) -> NotImplementedError:
    """PyTorch's complaint about a data type that an operator does not take."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{dt.scalar_name(d)}'")


def together(*values: Any) -> list[Any]:
    """Arrays and Python numbers as arrays of their common type."""
    d = dt.result(values)
    return [np.asarray(v).astype(d, copy=False) for v in values]


def number(value: Any, d: Any) -> Any:
    """A Python number in the type ``d`` (which NumPy would otherwise widen where ``d`` is bfloat16)."""
    return np.asarray(value).astype(d)


def conjugate(F: Any, x: Any) -> Any:
    """The conjugate of a value or of a Python number."""
    if hasattr(x, "dtype"):
        return F.conj(x) if F.is_complex(x) else x
    return x.conjugate()


def flat_gradient(F: Any, g: Any) -> Any:
    """The gradient of a step function."""
    return F.zeros(g.shape, F.dtype_of(g))


def no_derivative(name: str) -> Any:
    """The rule of an operator that is not differentiable although its result is a floating-point number."""

    def rule(F: Any, g: Any) -> Any:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return rule


# -- sums and products --------------------------------------------------------------------------------------------------

_BOOL_MINUS = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)


def _times_alpha(other: Any, alpha: Any, d: Any) -> Any:
    if type(alpha) is bool and d.kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if type(alpha) is float and d.kind in "iub":
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if type(alpha) is complex and d.kind != "c":
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    return other * number(alpha, d)


def _scaled(F: Any, g: Any, alpha: Any) -> Any:
    return g if alpha == 1 else g * alpha


@operator(
    grad=dict(input=lambda F, g: g, other=_scaled), promote="elementwise", kernel=np.add, inplace=True,
)  # fmt: skip
def add(input: Array, other: Array, *, alpha=1):
    """``input + alpha * other``, broadcast; for bool tensors, "or".

    >>> import wengert as torch
    >>> torch.add(torch.tensor([1.0, 2.0]), torch.tensor([10.0]), alpha=2)
    tensor([21., 22.])
    """
    return np.add(input, other if alpha == 1 and alpha is not True else _times_alpha(other, alpha, other.dtype))


def _difference(input: Any, other: Any, alpha: Any) -> Any:
    if type(other) is not np.ndarray or type(input) is not np.ndarray or input.dtype is not other.dtype:
        if "b" in (getattr(input, "dtype", dt.F32).kind, getattr(other, "dtype", dt.F32).kind):
            raise RuntimeError(_BOOL_MINUS)
        input, other = together(input, other)
    elif input.dtype.kind == "b":
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
        )
    return np.subtract(input, other if alpha == 1 and alpha is not True else _times_alpha(other, alpha, other.dtype))


@operator(
    grad=dict(input=lambda F, g: g, other=lambda F, g, alpha: -g if alpha == 1 else g * -alpha),
    scalars=True, kernel=np.subtract, inplace=True, aliases=("subtract",),
)  # fmt: skip
def sub(input: Array, other: Array, *, alpha=1):
    """``input - alpha * other``, broadcast; ``RuntimeError`` for bool tensors."""
    return _difference(input, other, alpha)


@operator(
    grad=dict(input=lambda F, g, alpha: -g if alpha == 1 else g * -alpha, other=lambda F, g: g), scalars=True,
    node="RsubBackward1", places=("torch",),
)  # fmt: skip
def rsub(input: Array, other: Array, *, alpha=1):
    """``other - alpha * input``."""
    return _difference(other, input, alpha)


@operator(
    grad=dict(input=lambda F, g, other: g * other, other=lambda F, g, input: g * input),
    promote="elementwise", kernel=np.multiply, inplace=True, aliases=("multiply",),
)  # fmt: skip
def mul(input: Array, other: Array):
    """``input * other``, broadcast; for bool tensors, "and"."""
    return np.multiply(input, other)


def _div_input(F: Any, g: Any, other: Any, rounding_mode: Any) -> Any:
    return g / other if rounding_mode is None else flat_gradient(F, g)


def _div_other(F: Any, g: Any, input: Any, other: Any, rounding_mode: Any) -> Any:
    return -g * ((input / other) / other) if rounding_mode is None else flat_gradient(F, g)


@operator(
    grad=dict(input=_div_input, other=_div_other), promote="elementwise", kernel=np.true_divide, inplace=True,
    aliases=("divide",),
)  # fmt: skip
def div(input: Array, other: Array, *, rounding_mode=None):
    """``input / other``, broadcast; integers divide to the default floating type.

    ``rounding_mode``: None, ``"trunc"`` (towards zero) or ``"floor"``; with the latter two integers stay integers.

    >>> import wengert as torch
    >>> torch.div(torch.tensor([-3, 4]), 2, rounding_mode="floor")
    tensor([-2,  2])
    """
    if rounding_mode is None:
        if input.dtype.kind in "iub":
            d = dt.default_float()
            return np.true_divide(input.astype(d), other.astype(d))
        return np.true_divide(input, other)
    if rounding_mode == "floor":
        return _floor_quotient(input, other)
    if rounding_mode == "trunc":
        return _trunc_quotient(input, other)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


@operator(grad=dict(input=lambda F, g, other: g / other, other=lambda F, g, input, other: -g * ((input / other) / other)),
          promote="float", kernel=np.true_divide, inplace=True, node="DivBackward0")  # fmt: skip
def true_divide(input: Array, other: Array):
    """``input / other``: ``div`` without a rounding mode."""
    return np.true_divide(input, other)


def _no_zero(input: Any, other: Any, kernel: str) -> None:
    d = other.dtype
    if d.kind in "iu" and not other.all():
        raise RuntimeError("ZeroDivisionError")
    if d.kind in "bc":
        raise unsupported(kernel, d)


def _floor_quotient(input: Any, other: Any) -> Any:
    _no_zero(input, other, "div_floor_cpu")
    return np.floor_divide(input, other)


def _trunc_quotient(input: Any, other: Any) -> Any:
    _no_zero(input, other, "div_trunc_cpu")
    if input.dtype.kind in "iu":
        down = np.floor_divide(input, other)
        return down + ((down < 0) & (down * other != input)) if input.dtype.kind == "i" else down
    return np.trunc(np.true_divide(input, other))


@operator(grad=dict(input=no_derivative("floor_divide"), other=no_derivative("floor_divide")), promote="elementwise", inplace=True,
          node="NotImplemented")  # fmt: skip
def floor_divide(input: Array, other: Array):
    """The largest integer not above ``input / other``; no gradient is defined. Integer division by zero is an error."""
    return _floor_quotient(input, other)


@operator(
    grad=dict(input=lambda F, g: g, other=lambda F, g, input, other: -g * F.div(input, other, rounding_mode="floor")),
    promote="elementwise", inplace=True,
)  # fmt: skip
def remainder(input: Array, other: Array):
    """What Python's ``%`` gives: the remainder with the sign of ``other``."""
    _no_zero(input, other, "remainder_cpu")
    return np.remainder(input, other)


@operator(
    grad=dict(input=lambda F, g: g, other=lambda F, g, input, other: -g * F.div(input, other, rounding_mode="trunc")),
    promote="elementwise", inplace=True,
)  # fmt: skip
def fmod(input: Array, other: Array):
    """What C's ``fmod`` gives: the remainder with the sign of ``input``."""
    _no_zero(input, other, "fmod_cpu")
    return np.fmod(input, other)


@operator(grad=dict(input=lambda F, g: -g), kernel=np.negative, inplace=True, aliases=("negative",))
def neg(input: Array):
    """``-input``; ``RuntimeError`` for bool tensors."""
    if input.dtype.kind == "b":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
            "`logical_not()` operator instead."
        )
    return np.negative(input)


@composite
def positive(F, input):
    """``+input``: the tensor itself; ``RuntimeError`` for bool tensors."""
    if F.dtype_of(input).kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@operator(grad=dict(input=lambda F, g, input: g * F.sgn(input)), wirtinger=True, inplace=True, aliases=("absolute",))
def abs(input: Array):
    """Absolute value; of complex numbers, the (real) magnitude. The gradient at zero is zero."""
    if input.dtype.kind == "b":
        raise unsupported("abs_cpu", input.dtype)
    return np.absolute(input)


# -- powers and roots ---------------------------------------------------------------------------------------------------


def _pow_input(F: Any, g: Any, input: Any, exponent: Any) -> Any:
    if not getattr(exponent, "shape", ()):  # a number, or a 0-d value: its small powers are worth a test
        if exponent == 2:
            return g * (conjugate(F, input) * 2)
        if exponent == 0:
            return flat_gradient(F, g)
        return g * conjugate(F, exponent * input ** (exponent - 1))
    steep = conjugate(F, exponent * input ** (exponent - 1))
    return F.where(exponent == 0, 0, g * steep)


def _pow_exponent(F: Any, g: Any, input: Any, exponent: Any, result: Any) -> Any:
    if not hasattr(input, "dtype"):
        if not input:
            return F.where(_not_negative(F, exponent), 0, g * conjugate(F, result * -np.inf))
        log = F.log(F.constant(np.asarray(input, F.dtype_of(result))))
        return g * conjugate(F, result * log)
    return F.where((input == 0) & _not_negative(F, exponent), 0, g * conjugate(F, result * F.log(input)))


def _not_negative(F: Any, x: Any) -> Any:
    if not hasattr(x, "dtype"):
        return F.constant(np.asarray(x.real >= 0))
    return (F.real(x) if F.is_complex(x) else x) >= 0


@operator(
    grad=dict(input=_pow_input, exponent=_pow_exponent), scalars=True, wirtinger=True, kernel=python.pow, inplace=True,
)  # fmt: skip
def pow(input: Array, exponent: Array):
    """``input ** exponent``, broadcast. Either may be a number.

    >>> import wengert as torch
    >>> torch.pow(torch.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    a, b = together(input, exponent)
    kind = a.dtype.kind
    if kind == "b":
        raise unsupported("pow", a.dtype)
    if kind == "i" and b.size and b.min() < 0:
        if type(exponent) is not np.ndarray:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        inverse = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
        return np.where(b < 0, inverse, np.power(a, np.maximum(b, 0))).astype(a.dtype, copy=False)
    if type(exponent) is np.ndarray or kind in "cV":
        return np.power(a, b)
    return a**exponent


@composite
def float_power(F, input, exponent):
    """``input ** exponent`` in float64, or in complex128 where either is complex."""
    wide = dt.C128 if any(_is_complex(F, x) for x in (input, exponent)) else dt.F64
    return F.pow(*(F.cast(x, wide) if hasattr(x, "dtype") else x for x in (input, exponent)))


def _is_complex(F: Any, x: Any) -> Any:
    return F.is_complex(x) if hasattr(x, "dtype") else isinstance(x, complex)


@operator(grad=dict(input=lambda F, g, result: g / (result * 2)), promote="float", kernel=np.sqrt, inplace=True)
def sqrt(input: Array):
    """Square root; NaN below zero."""
    return np.sqrt(input)


@operator(grad=dict(input=lambda F, g, result: g * (result**3 * -0.5)), promote="float", inplace=True)
def rsqrt(input: Array):
    """``1 / sqrt(input)``."""
    return np.reciprocal(np.sqrt(input))


@operator(grad=dict(input=lambda F, g, input: g * (input * 2)), kernel=np.square, inplace=True, node="PowBackward0", places=("torch", "Tensor"))
def square(input: Array):
    """``input * input``."""
    return np.square(input) if input.dtype.kind != "b" else input.astype(np.int64)


@operator(grad=dict(input=lambda F, g, result: -g * (result * result)), promote="float", kernel=np.reciprocal, inplace=True)
def reciprocal(input: Array):
    """``1 / input``."""
    return np.reciprocal(input)


@operator(grad=dict(input=lambda F, g, result: g * result), promote="float", kernel=np.exp, inplace=True)
def exp(input: Array):
    """``e ** input``."""
    return np.exp(input)


@operator(grad=dict(input=lambda F, g, result: g * (result * LN2)), promote="float", inplace=True, places=("torch", "Tensor", "special"))
def exp2(input: Array):
    """``2 ** input``."""
    return np.exp2(input)


@operator(grad=dict(input=lambda F, g, result: g * (result + 1)), promote="float", inplace=True, places=("torch", "Tensor", "special"))
def expm1(input: Array):
    """``e ** input - 1``, exact near zero."""
    return np.expm1(input)


@operator(grad=dict(input=lambda F, g, input: g / input), promote="float", kernel=np.log, inplace=True)
def log(input: Array):
    """Natural logarithm; NaN below zero, minus infinity at zero."""
    return np.log(input)


@operator(grad=dict(input=lambda F, g, input: g / (input * LN2)), promote="float", inplace=True)
def log2(input: Array):
    """Logarithm to base 2."""
    return np.log2(input)


@operator(grad=dict(input=lambda F, g, input: g / (input * LN10)), promote="float", inplace=True)
def log10(input: Array):
    """Logarithm to base 10."""
    return np.log10(input)


@operator(grad=dict(input=lambda F, g, input: g / (input + 1)), promote="float", inplace=True, places=("torch", "Tensor", "special"))
def log1p(input: Array):
    """``log(1 + input)``, exact near zero."""
    return np.log1p(input)


# -- extremes -----------------------------------------------------------------------------------------------------------


def _ordered(name: str, d: Any) -> None:
    if d.kind == "c":
        raise RuntimeError(f"{name} not implemented for complex tensors.")


@operator(
    grad=dict(
        input=lambda F, g, input, other: F.where(input == other, g / 2, F.where(input < other, 0, g)),
        other=lambda F, g, input, other: F.where(input == other, g / 2, F.where(input > other, 0, g)),
    ),
    promote="elementwise", scalars=False,
)  # fmt: skip
def maximum(input: Array, other: Array):
    """The larger of each pair; NaN if either is. Where they are equal each gets half of the gradient."""
    _ordered("maximum", input.dtype)
    return np.maximum(input, other)


@operator(
    grad=dict(
        input=lambda F, g, input, other: F.where(input == other, g / 2, F.where(input > other, 0, g)),
        other=lambda F, g, input, other: F.where(input == other, g / 2, F.where(input < other, 0, g)),
    ),
    promote="elementwise", scalars=False,
)  # fmt: skip
def minimum(input: Array, other: Array):
    """The smaller of each pair; NaN if either is. Where they are equal each gets half of the gradient."""
    _ordered("minimum", input.dtype)
    return np.minimum(input, other)


@operator(
    grad=dict(
        input=lambda F, g, input, other: F.where((input >= other) | F.isnan(other), g, 0),
        other=lambda F, g, input, other: F.where((input >= other) | F.isnan(other), 0, g),
    ),
    promote="elementwise", scalars=False,
)  # fmt: skip
def fmax(input: Array, other: Array):
    """The larger of each pair; NaN only if both are."""
    _ordered("fmax", input.dtype)
    return np.fmax(input, other)


@operator(
    grad=dict(
        input=lambda F, g, input, other: F.where((input <= other) | F.isnan(other), g, 0),
        other=lambda F, g, input, other: F.where((input <= other) | F.isnan(other), 0, g),
    ),
    promote="elementwise", scalars=False,
)  # fmt: skip
def fmin(input: Array, other: Array):
    """The smaller of each pair; NaN only if both are."""
    _ordered("fmin", input.dtype)
    return np.fmin(input, other)


def _inside(F: Any, g: Any, input: Any, min: Any, max: Any) -> Any:
    inside = input <= max if min is None else input >= min if max is None else (input >= min) & (input <= max)
    return F.where(inside, g, 0)


def _clamped(input: Any, min: Any, max: Any) -> Any:
    """NaN bounds make everything NaN; where the bounds cross, ``max`` wins."""
    if input.dtype.kind not in "fV" or type(min) is np.ndarray or type(max) is np.ndarray:
        if input.dtype.kind == "c":
            raise NotImplementedError("clamp is not supported for complex types")
        parts = [x for x in (input, min, max) if x is not None]
        if len(parts) == 1:
            raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
        row = together(*parts)
        input = row[0]
        min, max = row[1] if min is not None else None, row[-1] if max is not None else None
    elif input.dtype.kind == "V":
        min, max = (x if x is None else number(x, input.dtype) for x in (min, max))
    if min is not None:
        input = np.maximum(input, min)
    elif max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return input if max is None else np.minimum(input, max)


@operator(grad=dict(input=_inside), inplace=True, aliases=("clip",))
def clamp(input: Array, min=None, max=None):
    """Limit to ``[min, max]``; numbers or tensors, either may be None. The gradient is one at the limits, zero outside.

    >>> import wengert as torch
    >>> torch.clamp(torch.tensor([-1.0, 0.5, 2.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    return _clamped(input, min, max)


def _below(F: Any, g: Any, input: Any, min: Any, max: Any) -> Any:
    return F.where(input < min if max is None else (input < min) & (min < max), g, 0)


def _above(F: Any, g: Any, input: Any, min: Any, max: Any) -> Any:
    return F.where(input > max if min is None else (input > max) | (max < min), g, 0)


@operator(grad=dict(input=_inside, min=_below, max=_above), scalars=True, inplace=True, node="ClampBackward1", places=())
def clamp_tensor(input: Array, min: Array | None = None, max: Array | None = None):
    """``clamp`` with tensors for limits, which get the gradient where they apply."""
    return _clamped(input, min, max)


# -- choices ------------------------------------------------------------------------------------------------------------


@operator(
    grad=dict(input=lambda F, g, condition: F.where(condition, g, 0), other=lambda F, g, condition: F.where(condition, 0, g)),
    promote="elementwise", promoted=("input", "other"),
)  # fmt: skip
def where(condition: Array, input: Array, other: Array):
    """``input`` where ``condition`` holds, ``other`` elsewhere; all broadcast. With ``condition`` alone: its true places.

    >>> import wengert as torch
    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    if condition.dtype.kind != "b":
        if condition.dtype != np.uint8:
            raise RuntimeError(
                f"where expected condition to be a boolean tensor, but got a tensor with dtype {dt.scalar_name(condition.dtype)}"
            )
        condition = condition != 0
    return np.where(condition, input, other)
