"""Activations and their gradients, elementwise over float16, bfloat16, float32, float64 (and complex where stated).

Each function takes arrays that broadcast together and an optional ``out=``; each ``*_grad`` takes the incoming gradient
first and then what the forward pass kept: its ``result`` where that is enough, its input ``x`` otherwise. Half
precision is computed in float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.array_likes import as_array
from wengert.arrays.plain import special
from wengert.arrays.plain.widen import by_blocks, deliver, result_type, wide

if TYPE_CHECKING:
    from collections.abc import Callable

    from wengert.arrays.plain.widen import Array

SQRT_2_OVER_PI = 0.7978845608028654
GELU_CUBIC = 0.044715


def _elementwise(compute: Callable[..., Array]) -> Callable[..., Array]:
    """Compute in float32 at least, deliver in the arguments' common dtype, report no floating-point conditions."""
    arrays = sum(note == "Array" for name, note in compute.__annotations__.items() if name != "return")

    def function(*args: Array, out: Array | None = None, **parameters: float) -> Array:
        given = [as_array(a) for a in args[:arrays]]
        with np.errstate(all="ignore"):
            found = by_blocks(lambda *parts: compute(*map(wide, parts), *args[arrays:], **parameters), given,
                result_type(*given), out)
            if found is not None:
                return found
            value = compute(*[wide(a) for a in given], *args[arrays:], **parameters)
            return deliver(value, result_type(*given), out)

    function.__name__ = function.__qualname__ = compute.__name__
    function.__doc__ = compute.__doc__
    return function


@_elementwise
def relu(x: Array) -> Array:
    """``max(x, 0)``; NaN stays NaN."""
    return np.maximum(x, x.dtype.type(0))


@_elementwise
def relu_grad(g: Array, result: Array) -> Array:
    """``g`` where ``result`` is above zero (or NaN), zero elsewhere."""
    return np.where(result <= 0, g.dtype.type(0), g)


def _weighted_sigmoid(weight: Array | float, x: Array) -> Array:
    """``weight / (1 + exp(-x))`` with an exponential that does not overflow."""
    if x.dtype.kind == "c":
        return weight / (1 + np.exp(-x))
    e = np.exp(-np.abs(x))
    return weight * np.where(x < 0, e, x.dtype.type(1)) / (1 + e)


@_elementwise
def sigmoid(x: Array) -> Array:
    """``1 / (1 + exp(-x))``, also for complex ``x``."""
    return _weighted_sigmoid(1, x)


@_elementwise
def sigmoid_grad(g: Array, result: Array) -> Array:
    """``g * conj(result * (1 - result))``."""
    return g * np.conj(result * (1 - result))


@_elementwise
def tanh_grad(g: Array, result: Array) -> Array:
    """``g * conj(1 - result^2)``."""
    return g * np.conj((1 - result) * (1 + result))


@_elementwise
def gelu(x: Array) -> Array:
    """``x`` times the normal distribution function of ``x``."""
    return x * special.ndtr(x)


@_elementwise
def gelu_grad(g: Array, x: Array) -> Array:
    """``g`` times the derivative of ``gelu`` at ``x``: distribution function plus ``x`` times density."""
    return g * (special.ndtr(x) + x * np.exp(-0.5 * x * x) * x.dtype.type(special.INV_SQRT_2PI))


@_elementwise
def gelu_tanh(x: Array) -> Array:
    """GELU by its tanh approximation ``x/2 (1 + tanh(u))``, ``u = sqrt(2/pi) (x + 0.044715 x^3)``.

    Computed as ``x * sigmoid(2 u)``, which does not cancel for negative ``x``.
    """
    return _weighted_sigmoid(x, 2 * SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x))


@_elementwise
def gelu_tanh_grad(g: Array, x: Array) -> Array:
    """``g`` times the derivative of ``gelu_tanh`` at ``x``."""
    square = x * x
    s = _weighted_sigmoid(1, 2 * SQRT_2_OVER_PI * x * (1 + GELU_CUBIC * square))
    return g * (s + 2 * x * s * (1 - s) * SQRT_2_OVER_PI * (1 + 3 * GELU_CUBIC * square))


@_elementwise
def silu(x: Array) -> Array:
    """``x * sigmoid(x)``, also for complex ``x``."""
    return _weighted_sigmoid(x, x)


@_elementwise
def silu_grad(g: Array, x: Array) -> Array:
    """``g`` times the (conjugated) derivative of ``silu`` at ``x``."""
    s = _weighted_sigmoid(1, x)
    return g * np.conj(s * (1 + x * (1 - s)))


@_elementwise
def _softplus(x: Array, beta: float, threshold: float) -> Array:
    z = x * beta
    return np.where(z > threshold, x, (np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))) / beta)


@_elementwise
def _softplus_grad(g: Array, x: Array, beta: float, threshold: float) -> Array:
    z = x * beta
    return np.where(z > threshold, g, _weighted_sigmoid(g, z))


def softplus(x: Array, beta: float = 1.0, threshold: float = 20.0, out: Array | None = None) -> Array:
    """``log(1 + exp(beta x)) / beta``, and ``x`` itself where ``beta x > threshold``."""
    return _softplus(x, beta=beta, threshold=threshold, out=out)


def softplus_grad(g: Array, x: Array, beta: float = 1.0, threshold: float = 20.0, out: Array | None = None) -> Array:
    """``g`` times the derivative of ``softplus`` at ``x``."""
    return _softplus_grad(g, x, beta=beta, threshold=threshold, out=out)


@_elementwise
def log_sigmoid(x: Array) -> Array:
    """``log(sigmoid(x))`` without underflow."""
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


@_elementwise
def log_sigmoid_grad(g: Array, x: Array) -> Array:
    """``g * sigmoid(-x)``."""
    return _weighted_sigmoid(g, -x)


@_elementwise
def mish(x: Array) -> Array:
    """``x * tanh(log(1 + exp(x)))``."""
    return x * np.tanh(np.logaddexp(x, 0))


@_elementwise
def mish_grad(g: Array, x: Array) -> Array:
    """``g`` times the derivative of ``mish`` at ``x``."""
    t = np.tanh(np.logaddexp(x, 0))
    return g * (t + _weighted_sigmoid(x, x) * (1 - t * t))


@_elementwise
def leaky_relu(x: Array, slope: float) -> Array:
    """``x`` where positive, else ``slope * x``."""
    return np.where(x > 0, x, x * x.dtype.type(slope))


@_elementwise
def leaky_relu_grad(g: Array, x: Array, slope: float) -> Array:
    """``g`` where ``x`` is positive, else ``slope * g``."""
    return np.where(x > 0, g, g * g.dtype.type(slope))


@_elementwise
def hardtanh(x: Array, low: float, high: float) -> Array:
    """``x`` kept within [``low``, ``high``]."""
    return np.clip(x, x.dtype.type(low), x.dtype.type(high))


@_elementwise
def hardtanh_grad(g: Array, x: Array, low: float, high: float) -> Array:
    """``g`` where ``x`` is strictly within the bounds (or NaN), else zero."""
    return np.where((x <= low) | (x >= high), g.dtype.type(0), g)


@_elementwise
def hardsigmoid(x: Array) -> Array:
    """``clamp(x + 3, 0, 6) / 6``."""
    return np.clip(x + 3, 0, 6) / 6


@_elementwise
def hardsigmoid_grad(g: Array, x: Array) -> Array:
    """``g / 6`` for ``x`` strictly between -3 and 3, else zero."""
    return np.where((x > -3) & (x < 3), g * g.dtype.type(1 / 6), g.dtype.type(0))


@_elementwise
def hardswish(x: Array) -> Array:
    """``x * hardsigmoid(x)``."""
    return x * (np.clip(x + 3, 0, 6) / 6)


@_elementwise
def hardswish_grad(g: Array, x: Array) -> Array:
    """``g`` times the derivative of ``hardswish`` at ``x``: zero up to -3, one from 3 on."""
    return np.where(x <= -3, g.dtype.type(0), np.where(x < 3, g * (x / 3 + 0.5), g))


@_elementwise
def elu(x: Array, below: float, scale: float, steep: float) -> Array:
    """``scale * x`` where positive, else ``below * (exp(steep * x) - 1)``; ``steep`` is not negative."""
    t = x.dtype.type
    return np.where(x > 0, x * t(scale), np.expm1(np.minimum(x, 0) * t(steep)) * t(below))


@_elementwise
def elu_grad(g: Array, x: Array, below: float, scale: float, steep: float) -> Array:
    """``g`` times the derivative of ``elu`` at ``x``; ``scale * g`` where ``x`` is NaN."""
    t = x.dtype.type
    return g * np.where(x <= 0, np.exp(np.minimum(x, 0) * t(steep)) * t(below * steep), t(scale))
