"""Elementwise functions of two or three tensors: blends, angles, lengths, logarithms of sums and products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import as_array
from .operator import Array, family
from .pointwise import number, to_common_dtype
from .refusals import floating, only, real, unsupported

operator, composite = family("torch", "Tensor", pointwise=True)
pair, _ = family("torch", "Tensor", pointwise=True, promote="elementwise", scalars="")

# -- blends ----------------------------------------------------------------------------------------------------------


def _times(F: Any, x: Any, value: Any) -> Any:
    """``x * value`` in PyTorch's type of the product: of whole numbers theirs (which may wrap), or the default one."""
    d = F.dtype_of(x)
    if (type(value) is int and value == 1) or d.kind not in "biu":
        return x if value == 1 and F.raw else F.mul(x, value)
    d = (d if d.kind != "b" else np.dtype(np.int64)) if type(value) is int else dt.default_float()
    return F.cast(x, d) * number(value, d).item()


@operator(grad=dict(input=lambda F, g: g,
                    tensor1=lambda F, g, tensor2, value: F.mul(g, _times(F, tensor2, value)),
                    tensor2=lambda F, g, tensor1, value: F.mul(g, _times(F, tensor1, value))),
          numbered=K.scaled_product, inplace=True, opmath=True)
def addcmul(input: Array, tensor1: Array, tensor2: Array, *, value=1):
    """``input + value * tensor1 * tensor2``, broadcast."""
    if not input.dtype == tensor1.dtype == tensor2.dtype:
        input, tensor1, tensor2 = to_common_dtype(input, tensor1, tensor2)
    if input.dtype.kind == "b":
        raise NotImplementedError('"addcmul_cpu_out" not implemented for \'Bool\'')
    if input.dtype.char in "fd":
        return K.scaled_product(input, tensor1, tensor2, value, out=K.target(input))
    product = K.multiply(tensor1, tensor2)
    if value != 1:
        product = product * number(value, product.dtype)
    whole = type(product) is np.ndarray and product.shape == input.shape and product.dtype == input.dtype
    return K.add(input, product, product) if whole else np.add(input, product)


_WHOLE_QUOTIENT = ("Integer division with addcdiv is no longer supported, and in a future  release addcdiv will "
    "perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + "
    "value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
    "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * "
    "tensor1 / tensor2), for all dtypes.")


@operator(grad=dict(input=lambda F, g: g,
                    tensor1=lambda F, g, tensor2, value: g * (value / tensor2 if F.raw else F.div(value, tensor2)),
                    tensor2=lambda F, g, tensor1, tensor2, value: -g * (tensor1 * value / (tensor2 * tensor2))),
          numbered=K.scaled_quotient, inplace=True, opmath=True)
def addcdiv(input: Array, tensor1: Array, tensor2: Array, *, value=1):
    """``input + value * tensor1 / tensor2``, broadcast; ``RuntimeError`` for two integer tensors."""
    if tensor1.dtype.kind in "iub" and tensor2.dtype.kind in "iub":
        raise RuntimeError(_WHOLE_QUOTIENT)
    input, tensor1, tensor2 = to_common_dtype(input, tensor1, tensor2)
    if input.dtype.char in "fd":
        return K.scaled_quotient(input, tensor1, tensor2, value, out=K.target(input))
    quotient = tensor1 / tensor2
    return np.add(input, quotient if value == 1 else quotient * number(value, quotient.dtype))


def _blend(input: Any, end: Any, weight: Any) -> Any:
    """From the nearer end, so that weights of 0 and 1 give the ends exactly."""
    if end.dtype is not input.dtype and end.dtype != input.dtype:
        raise RuntimeError(f"expected dtype {dt.c_name(input.dtype)} for `end` but got dtype {dt.c_name(end.dtype)}")
    if input.dtype.kind in "iub":
        raise unsupported("lerp_kernel_scalar", input.dtype)
    if input.dtype.char in "fd" or (type(weight) is not np.ndarray and input.dtype.kind != "c"):
        return K.lerp(input, end, weight, out=K.target(input))
    step = end - input
    if type(weight) is not np.ndarray:
        near, rest = abs(weight) < 0.5, 1 - weight
        if input.dtype.kind == "V":
            weight, rest = number(weight, input.dtype), number(rest, input.dtype)
        return input + weight * step if near else end - rest * step
    weight = weight.astype(input.dtype, copy=False)
    return np.where(np.absolute(weight) < 0.5, input + weight * step,
        end - (1 - weight).astype(step.dtype, copy=False) * step)


@operator(grad=dict(input=lambda F, g, weight: F.mul(g, 1 - weight), end=lambda F, g, weight: F.mul(g, weight)),
    numbered=K.lerp, inplace=True)
def lerp(input: Array, end: Array, weight):
    """``input + weight * (end - input)``, broadcast; ``weight`` is a number or a tensor.

    >>> torch.lerp(torch.tensor([0.0, 10.0]), torch.tensor([4.0, 20.0]), 0.5)
    tensor([ 2., 15.])
    """
    return _blend(input, end, weight)


@operator(grad=dict(input=lambda F, g, weight: g * (1 - weight), end=lambda F, g, weight: g * weight,
                    weight=lambda F, g, input, end: g * (end - input)),
          inplace=True, node="LerpBackward1", places=())
def lerp_tensor(input: Array, end: Array, weight: Array):
    """``lerp`` with a tensor of weights, which get a gradient too."""
    if weight.dtype != input.dtype and weight.ndim:
        raise RuntimeError(f"expected dtype {dt.c_name(input.dtype)} for `weight` but got dtype "
            f"{dt.c_name(weight.dtype)}")
    return _blend(input, end, weight)


def _atan2_back(F: Any, g: Any, needs: Any, input: Any, other: Any) -> Any:
    """Across the radius, by one over its square; zero at the origin."""
    inverse = F.masked_fill(F.reciprocal(input * input + other * other), (input == 0) & (other == 0), 0)
    return g * other * inverse if needs[0] else None, g * -input * inverse if needs[1] else None


def _push_atan2(F: Any, t: Any, input: Any, other: Any) -> Any:
    ti, to = t
    across = other * ti if to is None else -input * to if ti is None else -input * to + other * ti
    return across / (input * input + other * other)


@pair(grad=_atan2_back, wrt=("input", "other"), push=_push_atan2, promote="float", kernel=K.arctan2, inplace=True,
    aliases=("arctan2",))
def atan2(input: Array, other: Array):
    """The angle, in [-pi, pi], of the point with ordinate ``input`` and abscissa ``other``."""
    return K.arctan2(real("atan2_cpu", input), other)


@pair(grad=dict(input=lambda F, g, input, result: g * input / result,
                other=lambda F, g, other, result: g * other / result),
      kernel=K.hypot, inplace=True)
def hypot(input: Array, other: Array):
    """``sqrt(input^2 + other^2)`` without overflow."""
    return K.hypot(floating("hypot_cpu", input), other)


def _complex_logaddexp(input: Any, other: Any) -> Any:
    """By way of the number with the larger real part."""
    larger = input.real >= other.real
    high, low = np.where(larger, input, other), np.where(larger, other, input)
    out = high + np.log1p(np.exp(low - high))
    infinite = np.isinf(high.real)
    return np.where(infinite,
        np.where((high.real < 0) | (low.real != high.real), high, np.log(np.exp(high) + np.exp(low))), out)


@pair(grad=dict(input=lambda F, g, input, other: g / (F.exp(other - input) + 1),
                other=lambda F, g, input, other: g / (F.exp(input - other) + 1)), kernel=K.logaddexp)
def logaddexp(input: Array, other: Array):
    """``log(exp(input) + exp(other))`` without overflow."""
    function = _complex_logaddexp if input.dtype.kind == "c" else K.logaddexp
    return function(only("fVc", "logaddexp_cpu", input), other)


@pair(grad=dict(input=lambda F, g, input, other: g / (F.exp2(other - input) + 1),
                other=lambda F, g, input, other: g / (F.exp2(input - other) + 1)), kernel=K.logaddexp2)
def logaddexp2(input: Array, other: Array):
    """``log2(2 ** input + 2 ** other)`` without overflow."""
    return K.logaddexp2(floating("logaddexp2_cpu", input), other)


def _times_log(log: Any, where_zero: Any) -> Any:
    """``(F, g, input, other) -> log(F, g, other)``, zero where the product was taken for zero."""

    def rule(F: Any, g: Any, input: Any, other: Any) -> Any:
        if not hasattr(other, "dtype"):
            other = F.constant(as_array(other, F.dtype_of(g)))
        found, below = log(F, g, other), other <= where_zero
        return F.masked_fill(found, (input == 0) & below, 0)

    return rule


_by_log, _by_log1p = (_times_log(lambda F, g, x: F.xlogy(g, x), 0),
    _times_log(lambda F, g, x: F.special_xlog1py(g, x), -1))


@operator(grad=dict(input=_by_log, other=lambda F, g, input, other: g * input / other),
          promote="float", inplace=True, places=("torch", "Tensor", "special"))
def xlogy(input: Array, other: Array):
    """``input * log(other)``, and 0 where ``input`` is 0 (unless ``other`` is NaN)."""
    return _product_or_zero("xlogy", input, other, np.log)


@operator(grad=dict(input=_by_log1p, other=lambda F, g, input, other: g * input / (other + 1)),
          promote="float", places=("special",), node="SpecialXlog1PyBackward0")
def special_xlog1py(input: Array, other: Array):
    """``input * log1p(other)``, and 0 where ``input`` is 0 (unless ``other`` is NaN)."""
    return _product_or_zero("xlog1py", input, other, np.log1p)


def _product_or_zero(kernel: str, input: Any, other: Any, log: Any) -> Any:
    input, other = as_array(input), as_array(other)  # the fast path passes Python numbers as they are
    d = real(f"{kernel}_cpu", input if input.ndim or not other.ndim else other).dtype
    if d.char in "fd":
        return getattr(K, kernel)(input.astype(d, copy=False), other.astype(d, copy=False))
    zero = as_array(input == 0)
    product = input * log(other)
    if K.within(zero, 0, 0):
        return as_array(product).astype(d, copy=False)
    return np.where(zero & ~np.isnan(other), 0, product).astype(d, copy=False)
