"""Elementwise arithmetic: sums, products, quotients, extremes and choices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import as_array, has_memory
from ..arrays.errors import limits, refuse_overflow
from ..graph.modes import map_levels, modes
from .operator import Array, family
from .refusals import only, unsupported, without

operator, composite = family("torch", "Tensor", pointwise=True)
arithmetic, _ = family("torch", "Tensor", pointwise=True, promote="elementwise", scalars="any", inplace=True)
extreme, _ = family("torch", "Tensor", pointwise=True, promote="elementwise", scalars="")
hidden, _ = family(pointwise=True, inplace=True)


def to_common_dtype(*values: Any) -> list[Any]:
    """Arrays and Python numbers as arrays of their common type."""
    d = dt.result(values)
    return [as_array(v).astype(d, copy=False) for v in values]


def number(value: Any, d: Any) -> Any:
    """A Python number in the type ``d`` (which NumPy would otherwise widen where ``d`` is bfloat16)."""
    if getattr(value, "requires_grad", False):
        raise TypeError("argument must be Number, not Tensor")  # its history would be lost
    return dt.as_number(value).astype(d)


def widened(a: Any) -> Any:
    """Half precision as the float32 that it is computed in; other numbers, and None, as they are."""
    return K.cast(a, dt.F32) if a is not None and dt.is_half(a.dtype) else a


def conjugate(F: Any, x: Any) -> Any:
    """The conjugate of a value or of a Python number."""
    if hasattr(x, "dtype"):
        return F.conj(x) if F.is_complex(x) else x
    return x.conjugate()


def from_one(F: Any, x: Any) -> Any:
    """``1 - x`` as a rule of PyTorch's computes it: a difference, not the reflected one that ``1 - x`` is to users."""
    return 1 - x if F.raw else F.sub(1, x)


def flat_gradient(F: Any, g: Any) -> Any:
    """The gradient of a step function."""
    return F.new_zeros(g, g.shape)


@operator(grad=dict(input=lambda F, g: g, other=lambda F, g, other_shape: F.new_zeros(g, other_shape)),
          linear=True, places=())
def zero_edge(input: Array, other: Array):
    """``input``, with an edge to ``other`` besides, along which zeros go."""
    return input.copy()


@operator(grad=dict(input=lambda F, g: g, other=lambda F, g: None), linear=True, places=())
def none_edge(input: Array, other: Array):
    """``input``, with an edge to ``other`` besides, along which nothing goes."""
    return input.copy()


@composite(places=(), raw=lambda value, zeros, *others: value)
def kept(F, value, zeros, *others):
    """A gradient, with a history as long as PyTorch's: of ``others`` too, on which it does not depend.

    ``zeros``: whether their gradients are zeros or none.
    """
    m = modes()
    if m.grad and not m.levels and not map_levels.get():
        for x in others:
            if getattr(x, "requires_grad", False):
                value = F.zero_edge(value, x) if zeros else F.none_edge(value, x)
    return value


def no_derivative(name: str) -> Any:
    """The rule of an operator that is not differentiable although its result is a floating-point number."""

    def rule(F: Any, g: Any) -> Any:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return rule


# -- sums and products -----------------------------------------------------------------------------------------------

_INVERT = "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
_BOOL_NEGATIVE = f"Negation, the `-` operator, on a bool tensor is not supported. {_INVERT}"
_BOOL_MINUS = f"Subtraction, the `-` operator, with a bool tensor is not supported. {_INVERT}"
_BOOLS_MINUS = ("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
    "operator instead.")


def _times_alpha(input: Any, other: Any, alpha: Any) -> Any:
    d = (other if hasattr(other, "dtype") else input).dtype  # the fast path passes Python numbers as they are
    if type(alpha) is bool and d.kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if type(alpha) is float and d.kind in "iub":
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if type(alpha) is complex and d.kind != "c":
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    return other * number(alpha, d)


def _scaled(input: Any, other: Any, alpha: Any, sign: int) -> Any:
    """``input`` and ``alpha`` times ``other``, with that sign; rounded once, as PyTorch's vectors do."""
    if (type(alpha) in (int, float) and type(input) is type(other) is np.ndarray and input.dtype.kind in "fV"
            and input.dtype == other.dtype):
        return K.scaled_sum(input, other, sign * alpha, out=K.target(input))
    times = _times_alpha(input, other, alpha)
    return (np.add if sign > 0 else np.subtract)(input, times, out=K.target(input))


def _taken_away(F: Any, g: Any, alpha: Any) -> Any:
    return F.neg(g) if alpha == 1 else F.mul(g, -alpha)


@arithmetic(grad=dict(input=lambda F, g: g, other=lambda F, g, alpha: g if alpha == 1 else F.mul(g, alpha)),
            kernel=K.add, numbered=K.scaled_sum)
def add(input: Array, other: Array, *, alpha=1):
    """``input + alpha * other``, broadcast; for bool tensors, "or".

    >>> torch.add(torch.tensor([1.0, 2.0]), torch.tensor([10.0]), alpha=2)
    tensor([21., 22.])
    """
    if alpha == 1 and alpha is not True:
        return K.add(input, other)
    return _scaled(input, other, alpha, 1)


def _difference(input: Any, other: Any, alpha: Any) -> Any:
    if type(other) is type(alpha) is int and type(input) is np.ndarray and input.dtype is dt.I64 and (
            alpha == 1 and -_WIDE <= other <= _WIDE):
        return K.subtract(input, other)
    if not has_memory(other) or not has_memory(input) or input.dtype is not other.dtype:
        truths = sum(type(x) is bool or (has_memory(x) and x.dtype.kind == "b") for x in (input, other))
        if truths:
            raise RuntimeError(_BOOL_MINUS if truths == 1 else _BOOLS_MINUS)
        input, other = to_common_dtype(input, other)
    elif input.dtype.kind == "b":
        raise RuntimeError(_BOOLS_MINUS)
    if alpha == 1 and alpha is not True:
        return K.subtract(input, other)
    return _scaled(input, other, alpha, -1)


@arithmetic(grad=dict(input=lambda F, g: g, other=_taken_away), promote=None, kernel=K.subtract, aliases=("subtract",))
def sub(input: Array, other: Array, *, alpha=1):
    """``input - alpha * other``, broadcast; ``RuntimeError`` for bool tensors."""
    return _difference(input, other, alpha)


@operator(grad=dict(input=_taken_away, other=lambda F, g: g), scalars=("other",), kernel=lambda a, b: K.subtract(b, a),
          without=dict(other="RsubBackward1"), places=("torch",))
def rsub(input: Array, other: Array, *, alpha=1):
    """``other - alpha * input``."""
    return _difference(other, input, alpha)


@arithmetic(grad=dict(input=lambda F, g, other: F.mul(g, other), other=lambda F, g, input: F.mul(g, input)),
            kernel=K.multiply, opmath=True, aliases=("multiply",))
def mul(input: Array, other: Array):
    """``input * other``, broadcast; for bool tensors, "and"."""
    return K.multiply(input, other)


def _push_div(F: Any, t: Any, other: Any, result: Any) -> Any:
    ti, to = t
    above = ti if to is None else -to * result if ti is None else ti - to * result
    return above / other


@arithmetic(grad=dict(input=lambda F, g, other: F.div(g, other), other=lambda F, g, input, other: F.mul(F.neg(g),
                      F.div(F.div(input, other), other))), promote="float",
            push=_push_div, kernel=K.true_divide, opmath=True, aliases=("true_divide",))
def div(input: Array, other: Array):
    """``input / other``, broadcast; integers divide to the default floating type."""
    return K.true_divide(input, other)


@arithmetic(grad=dict(input=flat_gradient, other=flat_gradient), node="DivBackward2", places=(),
    shows=("rounding_mode",))
def div_rounded(input: Array, other: Array, rounding_mode):
    """``input / other`` rounded towards zero (``"trunc"``) or down (``"floor"``); integers stay integers."""
    if rounding_mode in _QUOTIENTS:
        return _QUOTIENTS[rounding_mode](input, other)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


def _no_zero(input: Any, other: Any, kernel: str) -> Any:
    """``other``, by which ``input`` can be divided."""
    d = (other if hasattr(other, "dtype") else input).dtype
    if d.kind in "iu" and not (other.all() if np.ndim(other) else other) and np.size(input):
        raise RuntimeError("ZeroDivisionError")
    if d.kind in "bc":
        raise unsupported(kernel, d)
    return other


def _floor_quotient(input: Any, other: Any) -> Any:
    return K.floor_divide(input, _no_zero(input, other, "div_floor_cpu"))


def _trunc_quotient(input: Any, other: Any) -> Any:
    _no_zero(input, other, "div_trunc_cpu")
    if input.dtype.kind in "iu":
        down = K.floor_divide(input, other)
        return down + ((down < 0) & (down * other != input)) if input.dtype.kind == "i" else down
    return np.trunc(np.true_divide(input, other))


_QUOTIENTS = {"floor": _floor_quotient, "trunc": _trunc_quotient}


@arithmetic(grad=dict(input=no_derivative("floor_divide"), other=no_derivative("floor_divide")), kernel=K.floor_divide,
            node="NotImplemented")
def floor_divide(input: Array, other: Array):
    """The largest integer not above ``input / other``; no gradient is defined. Integer division by zero is an error."""
    return _floor_quotient(input, other)


@arithmetic(grad=dict(input=lambda F, g: g, other=lambda F, g, input, other: -g * F.div_rounded(input, other, "floor")),
            scalars="one", kernel=K.remainder, node="RemainderBackward1",
            without=dict(other="RemainderBackward0"))
def remainder(input: Array, other: Array):
    """What Python's ``%`` gives: the remainder with the sign of ``other``."""
    return K.remainder(input, _no_zero(input, other, "remainder_cpu"))


@arithmetic(grad=dict(input=lambda F, g: g, other=lambda F, g, input, other: -g * F.div_rounded(input, other, "trunc")),
            scalars=("other",), kernel=K.fmod, node="FmodBackward1", without=dict(other="FmodBackward0"))
def fmod(input: Array, other: Array):
    """What C's ``fmod`` gives: the remainder with the sign of ``input``."""
    return K.fmod(input, _no_zero(input, other, "fmod_cpu"))


@operator(grad=dict(input=lambda F, g: F.neg(g)), kernel=K.negative, inplace=True, aliases=("negative",))
def neg(input: Array):
    """``-input``; ``RuntimeError`` for bool tensors."""
    return K.negative(without("b", input, _BOOL_NEGATIVE))


@composite
def positive(F, input):
    """``+input``: the tensor itself; ``RuntimeError`` for bool tensors."""
    if F.dtype_of(input).kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@operator(grad=dict(input=lambda F, g, input: F.mul(g, F.sgn(input))), wirtinger=True, kernel=K.absolute, inplace=True,
          aliases=("absolute",))
def abs(input: Array):
    """Absolute value; of complex numbers, the (real) magnitude. The gradient at zero is zero."""
    return K.absolute(only("fViuc", "abs_cpu", input))


# -- extremes --------------------------------------------------------------------------------------------------------


def _if_less(F: Any, g: Any, input: Any, other: Any) -> Any:
    """``g`` where ``input`` is the smaller one, half of it where both are equal."""
    return F.where(F.eq(input, other), F.div(g, 2), F.where(F.gt(input, other), 0, g))


def _filled(F: Any, tangents: Any) -> list[Any]:
    """The tangents, zeros for those that are missing."""
    some = next(t for t in tangents if t is not None)
    return [F.new_zeros(some, some.shape) if t is None else t for t in tangents]


def _push_chosen(F: Any, t: Any, whole: Any, half: Any = None) -> Any:
    """The tangent of the first where ``whole``, of both in halves where ``half``, else that of the second."""
    ti, to = _filled(F, t)
    share = whole if half is None else F.where(half, 0.5, F.cast(whole, F.dtype_of(ti)))
    return to + share * (ti - to)


@extreme(grad=dict(input=lambda F, g, input, other: _if_less(F, g, other, input), other=_if_less), kernel=K.maximum,
         push=lambda F, t, input, other: _push_chosen(F, t, input > other, input == other))
def maximum(input: Array, other: Array):
    """The larger of each pair; NaN if either is. Where they are equal each gets half of the gradient."""
    return K.maximum(without("c", input, "maximum not implemented for complex tensors."), other)


@extreme(grad=dict(input=_if_less, other=lambda F, g, input, other: _if_less(F, g, other, input)), kernel=K.minimum,
         push=lambda F, t, input, other: _push_chosen(F, t, input < other, input == other))
def minimum(input: Array, other: Array):
    """The smaller of each pair; NaN if either is. Where they are equal each gets half of the gradient."""
    return K.minimum(without("c", input, "minimum not implemented for complex tensors."), other)


@extreme(grad=dict(input=lambda F, g, input, other: F.where((input >= other) | F.isnan(other), g, 0),
                   other=lambda F, g, input, other: F.where((input >= other) | F.isnan(other), 0, g)),
         kernel=K.fmax, push=lambda F, t, input, other: _push_chosen(F, t, (input > other) | F.isnan(other)))
def fmax(input: Array, other: Array):
    """The larger of each pair; NaN only if both are."""
    return K.fmax(without("c", input, "fmax not implemented for complex tensors."), other)


@extreme(grad=dict(input=lambda F, g, input, other: F.where((input <= other) | F.isnan(other), g, 0),
                   other=lambda F, g, input, other: F.where((input <= other) | F.isnan(other), 0, g)),
         kernel=K.fmin)
def fmin(input: Array, other: Array):
    """The smaller of each pair; NaN only if both are."""
    return K.fmin(without("c", input, "fmin not implemented for complex tensors."), other)


def _inside(F: Any, g: Any, input: Any, min: Any, max: Any) -> Any:
    below, above = None if max is None else F.le(input, max), None if min is None else F.ge(input, min)
    return F.where(below if above is None else above if below is None else above & below, g, 0)


_EXACT = 1 << 24  # whole numbers up to here are numbers of every floating type
_WIDE = (1 << 63) - 1
_LARGEST_HALF = 65504
_NUMBER_OR_NONE = (int, float, type(None))


def _is_exact(v: Any) -> bool:
    return type(v) is not int or -_EXACT <= v <= _EXACT


def _is_half(v: Any) -> bool:
    return -_LARGEST_HALF <= v <= _LARGEST_HALF or v in (np.inf, -np.inf)


def _within_numbers(input: Any, min: Any, max: Any) -> Any:
    """``_clamped`` between Python's numbers that the type of ``input`` has; None of all others."""
    if type(min) not in _NUMBER_OR_NONE or type(max) not in _NUMBER_OR_NONE or min is None is max:
        return None
    if dt.is_half(input.dtype):
        low, high = -np.inf if min is None else min, np.inf if max is None else max
        return K.hardtanh(input, low, high, out=K.target(input)) if _is_half(low) and _is_half(high) else None
    if input.dtype.kind == "f":
        return _limited(input, min, max) if _is_exact(min) and _is_exact(max) else None
    if input.dtype.kind not in "iu":
        return None
    least, most = limits(input.dtype, 0.0)
    for v in (min, max):
        if v is not None and (type(v) is not int or not least <= v <= most):
            return None
    low, high = (None if v is None else np.array(v, input.dtype) for v in (min, max))
    return _limited(input, low, high, False)


def _clamped(input: Any, min: Any, max: Any) -> Any:
    """NaN bounds make everything NaN; where the bounds cross, ``max`` wins."""
    found = _within_numbers(input, min, max)
    if found is not None:
        return found
    # NumPy's numbers would widen the result
    min, max = (limit.item() if isinstance(limit, np.generic) else limit for limit in (min, max))
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    for limit in (min, max):
        if isinstance(limit, str):
            raise TypeError("clamp() received an invalid combination of arguments - got (str), but min and max must be "
                "Number or Tensor")
        if type(limit) is complex and input.dtype.kind != "c":
            raise RuntimeError("value cannot be converted to type double without overflow")
        if type(limit) is int or (type(limit) is float and input.dtype.kind not in "biuc"):
            refuse_overflow(limit, input.dtype)
    if input.dtype.kind != "f" or has_memory(min) or has_memory(max):
        if input.dtype.kind == "c":
            raise NotImplementedError("clamp is not supported for complex types")
        row = to_common_dtype(*(x for x in (input, min, max) if x is not None))
        input, min, max = row[0], None if min is None else row[1], None if max is None else row[-1]
        return _limited(input, min, max, False)
    return _limited(input, min, max)


def _limited(input: Any, min: Any, max: Any, numbers: bool = True) -> Any:
    if numbers and input.size > 1024:  # quicker than the two ufuncs below, but slower to start
        low, high = -np.inf if min is None else min, np.inf if max is None else max
        if low == low and high == high and input.dtype.char in "fd":
            return K.hardtanh(input, low, high, out=K.target(input))
        return np.clip(input, low, high)
    if (input.dtype.kind in "iu" and input.size > 1 << 17 and type(min) is type(max) is np.ndarray
            and not min.ndim and not max.ndim):
        return np.clip(input, min, max)
    out = K.target(input)
    if min is not None:
        input = K.maximum(input, min, out=None if getattr(min, "ndim", 0) else out)
        out = input if type(input) is np.ndarray else None
    return input if max is None else K.minimum(input, max, out=None if getattr(max, "ndim", 0) else out)


@operator(grad=dict(input=_inside), inplace=True, node="ClampBackward1", aliases=("clip",))
def clamp(input: Array, min=None, max=None):
    """Limit to ``[min, max]``; numbers or tensors, either may be None. The gradient is one at the limits, zero outside.

    >>> torch.clamp(torch.tensor([-1.0, 0.5, 2.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    return _clamped(input, min, max)


def _push_clamp(F: Any, t: Any, input: Any, min: Any, max: Any) -> Any:
    ti, tl, tu = _filled(F, t)
    if max is None:
        return F.where(input > min, ti, tl)
    if min is None:
        return F.where(input < max, ti, tu)
    return F.where(min > max, tu, F.where(input < min, tl, F.where(input > max, tu, ti)))


@hidden(
    grad=dict(
        input=_inside,
        min=lambda F, g, input, min, max: F.where(input < min if max is None else (input < min) & (min < max), g, 0),
        max=lambda F, g, input, min, max: F.where(input > max if min is None else (input > max) | (max < min), g, 0)),
    push=_push_clamp, scalars=("min", "max"), node="ClampBackward0")
def clamp_tensor(input: Array, min: Array | None = None, max: Array | None = None):
    """``clamp`` with tensors for limits, which get the gradient where they apply."""
    return _clamped(input, min, max)


@operator(grad=dict(input=lambda F, g, input, min: F.where(input >= min, g, 0)), inplace=True)
def clamp_min(input: Array, min):
    """The larger of each element and ``min``, a number or a tensor."""
    return _clamped(input, min, None)


@operator(grad=dict(input=lambda F, g, input, max: F.where(input <= max, g, 0)), inplace=True)
def clamp_max(input: Array, max):
    """The smaller of each element and ``max``, a number or a tensor."""
    return _clamped(input, None, max)


@hidden(grad=dict(input=lambda F, g, input, min: F.where(input >= min, g, 0),
                  min=lambda F, g, input, min: F.where(input < min, g, 0)),
        node="ClampMinBackward1")
def clamp_min_tensor(input: Array, min: Array):
    """``clamp_min`` with a tensor, which gets the gradient where it is the larger."""
    return _clamped(input, min, None)


@hidden(grad=dict(input=lambda F, g, input, max: F.where(input <= max, g, 0),
                  max=lambda F, g, input, max: F.where(input > max, g, 0)),
        node="ClampMaxBackward1")
def clamp_max_tensor(input: Array, max: Array):
    """``clamp_max`` with a tensor, which gets the gradient where it is the smaller."""
    return _clamped(input, None, max)


# -- choices ---------------------------------------------------------------------------------------------------------


@operator(grad=dict(input=lambda F, g, condition: F.where(condition, g, 0),
                    other=lambda F, g, condition: F.where(condition, 0, g)),
          promote="elementwise", promoted=("input", "other"), scalars=("input", "other"))
def where(condition: Array, input: Array, other: Array):
    """``input`` where ``condition`` holds, ``other`` elsewhere; all broadcast."""
    if condition.dtype.kind != "b":
        if condition.dtype != np.uint8:
            found = dt.scalar_name(condition.dtype)
            raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {found}")
        condition = condition != 0
    return K.where(condition, input, other)
