"""Activations, their gradients and small formulas, elementwise over floating-point types (and complex where stated).

Each function takes arrays that broadcast together and an optional ``out=``; each ``*_grad`` takes the incoming gradient
first and then what the forward pass kept: its ``result`` where that is enough, its input ``x`` otherwise. Half
precision is computed in float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.array_likes import as_array, has_memory
from wengert.arrays.plain import special
from wengert.arrays.plain.widen import elementwise, parameter, wide

if TYPE_CHECKING:
    from wengert.arrays.plain.widen import Array

SQRT_2_OVER_PI = 0.7978845608028654
GELU_CUBIC = 0.044715


_elementwise = elementwise(wide)


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
def gelu_bend(g: Array, x: Array) -> Array:
    """``g`` times the second derivative of ``gelu`` at ``x``: density times ``2 - x^2``."""
    a = np.minimum(np.abs(x), x.dtype.type(60))  # beyond it there is nothing, and infinity is no product
    return g * (np.exp(-0.5 * a * a) * (2 - a * a) * x.dtype.type(special.INV_SQRT_2PI))


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
def softplus(x: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """``log(1 + exp(beta x)) / beta``, and ``x`` itself where ``beta x > threshold``."""
    z = x * beta
    return np.where(z > threshold, x, (np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))) / beta)


@_elementwise
def softplus_grad(g: Array, x: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """``g`` times the derivative of ``softplus`` at ``x``."""
    z = x * beta
    return np.where(z > threshold, g, _weighted_sigmoid(g, z))


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
def leaky_relu(x: Array, slope: float | Array) -> Array:
    """``x`` where positive, else ``slope * x``."""
    return np.where(x > 0, x, x * (slope if has_memory(slope) else x.dtype.type(slope)))


@_elementwise
def leaky_relu_grad(g: Array, x: Array, slope: float) -> Array:
    """``g`` where ``x`` is positive, else ``slope * g``."""
    return np.where(x > 0, g, g * g.dtype.type(slope))


@_elementwise
def hardshrink(x: Array, bound: float) -> Array:
    """``x`` outside ``[-bound, bound]``, zero within."""
    return np.where((x <= bound) & (x >= -bound), x.dtype.type(0), x)


@_elementwise
def softshrink(x: Array, bound: float) -> Array:
    """``x`` moved towards zero by ``bound``, zero within."""
    near = np.where(x > bound, x - bound, np.where(np.isnan(x), x, x.dtype.type(0)))
    return np.where(x < -bound, x + bound, near)


@_elementwise
def shrink_grad(g: Array, x: Array, bound: float) -> Array:
    """``g`` where ``x`` lies outside ``[-bound, bound]``, zero within."""
    return np.where((x <= bound) & (x >= -bound), g.dtype.type(0), g)


@_elementwise
def frac(x: Array) -> Array:
    """The fraction of ``x``, with its sign."""
    return x - np.trunc(x)


@_elementwise
def _limited(x: Array, low: float, high: float) -> Array:
    return np.clip(x, x.dtype.type(low), x.dtype.type(high))


def hardtanh(x: Array, low: float, high: float, out: Array | None = None) -> Array:
    """``x`` kept within [``low``, ``high``], which are rounded as ``x`` is."""
    return _limited(x, parameter(low, x), parameter(high, x), out=out)


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
    """``scale * x``, where negative ``below * (exp(steep * x) - 1)``; ``steep`` is not negative."""
    t = x.dtype.type
    return np.where(x < 0, np.expm1(np.minimum(x, 0) * t(steep)) * t(below), x * t(scale))


@_elementwise
def elu_grad(g: Array, x: Array, below: float, scale: float, steep: float) -> Array:
    """``g`` times the derivative of ``elu`` at ``x``; ``scale * g`` where ``x`` is NaN."""
    t = x.dtype.type
    return g * np.where(x <= 0, np.exp(np.minimum(x, 0) * t(steep)) * t(below * steep), t(scale))


@_elementwise
def rsqrt(x: Array) -> Array:
    """``1 / sqrt(x)``; NaN below zero."""
    return 1 / np.sqrt(x)


@_elementwise
def signum(x: Array) -> Array:
    """-1, 0 or 1, and 0 for NaN."""
    above, below = as_array(x > 0), as_array(x < 0)
    return (above.view(np.int8) - below.view(np.int8)).astype(x.dtype)


@_elementwise
def cube(x: Array) -> Array:
    """``x * x * x``."""
    return x * x * x


@_elementwise
def square_difference(a: Array, b: Array) -> Array:
    """``(a - b)^2``."""
    difference = a - b
    return difference * difference


@_elementwise
def _lerp_by_one(a: Array, b: Array, weight: float) -> Array:
    return _lerp(a, b, a.dtype.type(weight))


@_elementwise
def _lerp_by_many(a: Array, b: Array, weight: Array) -> Array:
    return _lerp(a, b, weight)


def _lerp(a: Array, b: Array, w: Array) -> Array:
    return np.where(np.abs(w) < 0.5, a + w * (b - a), b - (1 - w) * (b - a))


def lerp(a: Array, b: Array, weight: float | Array, out: Array | None = None) -> Array:
    """``a + weight (b - a)``, from the nearer end, so that 0 and 1 give the ends exactly; one weight or many."""
    blend = _lerp_by_one if isinstance(weight, (int, float)) else _lerp_by_many
    return blend(a, b, weight, out=out)


@_elementwise
def _scaled_sum(a: Array, b: Array, scale: float) -> Array:
    return a + a.dtype.type(scale) * b


def scaled_sum(a: Array, b: Array, scale: float, out: Array | None = None) -> Array:
    """``a + scale * b``; the scale is rounded as ``a`` is, their sum once."""
    return _scaled_sum(a, b, parameter(scale, a), out=out)


@_elementwise
def smooth_l1(a: Array, b: Array, beta: float) -> Array:
    """``d^2 / (2 beta)`` where the distance ``d`` of ``a`` and ``b`` is below ``beta``, else ``d - beta / 2``."""
    d, t = np.abs(a - b), a.dtype.type
    return np.where(d < t(beta), t(0.5) * d * d / t(beta), d - t(0.5) * t(beta))


@_elementwise
def huber(a: Array, b: Array, delta: float) -> Array:
    """``d^2 / 2`` where the distance ``d`` of ``a`` and ``b`` is at most ``delta``, else ``delta (d - delta / 2)``."""
    d, t = np.abs(a - b), a.dtype.type
    return np.where(d <= t(delta), d * d * t(0.5), (d - t(0.5 * delta)) * t(delta))


@_elementwise
def scaled_product(a: Array, b: Array, c: Array, scale: float) -> Array:
    """``a + scale * b * c``."""
    return a + a.dtype.type(scale) * b * c


@_elementwise
def scaled_quotient(a: Array, b: Array, c: Array, scale: float) -> Array:
    """``a + scale * b / c``."""
    return a + a.dtype.type(scale) * b / c


@_elementwise
def threshold(x: Array, bound: float, instead: float) -> Array:
    """``x`` where above ``bound`` (or NaN), else ``instead``."""
    t = x.dtype.type
    return np.where(x <= t(bound), t(instead), x)


@_elementwise
def threshold_grad(g: Array, x: Array, bound: float) -> Array:
    """``g`` where ``x`` is above ``bound`` (or NaN), else zero."""
    return np.where(x <= x.dtype.type(bound), g.dtype.type(0), g)


@_elementwise
def angle(x: Array) -> Array:
    """Pi below zero, else zero; NaN stays NaN."""
    return np.where(x < 0, x.dtype.type(np.pi), np.where(np.isnan(x), x, x.dtype.type(0)))


@_elementwise
def logit(x: Array) -> Array:
    """``log(x / (1 - x))``; NaN outside [0, 1]."""
    return np.log(x / (1 - x))


@_elementwise
def entr(x: Array) -> Array:
    """``-x log(x)``; zero at zero, minus infinity below."""
    value = -x * np.log(np.where(x > 0, x, x.dtype.type(1)))
    return np.where(x < 0, x.dtype.type(-np.inf), np.where(x == 0, x.dtype.type(0), value))


@_elementwise
def sinc(x: Array) -> Array:
    """``sin(pi x) / (pi x)`` and 1 at zero; the product is rounded, as in PyTorch."""
    x = x * x.dtype.type(np.pi)
    return np.where(x == 0, x.dtype.type(1), np.sin(x) / x)


@_elementwise
def xlogy(x: Array, y: Array) -> Array:
    """``x log(y)``, and zero where ``x`` is (unless ``y`` is NaN)."""
    return np.where((x == 0) & (y == y), x.dtype.type(0), x * np.log(y))


@_elementwise
def xlog1py(x: Array, y: Array) -> Array:
    """``x log(1 + y)``, and zero where ``x`` is (unless ``y`` is NaN)."""
    return np.where((x == 0) & (y == y), x.dtype.type(0), x * np.log1p(y))


@_elementwise
def heaviside(x: Array, value: Array) -> Array:
    """Zero below zero (and at NaN), one above, ``value`` at zero."""
    return np.where(x == 0, value, (x > 0).astype(x.dtype))


@_elementwise
def bent_grad(g: Array, a: Array, b: Array, delta: float, scale: float) -> Array:
    """``g`` times the difference of ``a`` and ``b``, kept within ``delta`` of zero, times ``scale``."""
    t = a.dtype.type
    return g * (np.clip(a - b, t(-delta), t(delta)) * t(scale))


@_elementwise
def gated(a: Array, x: Array) -> Array:
    """``a sigmoid(x)``."""
    return a * sigmoid(x)


@_elementwise
def gated_grad(g: Array, a: Array, x: Array) -> Array:
    """``g`` times the derivative of ``gated`` in ``x``."""
    s = sigmoid(x)
    return (g * s) * ((1 - s) * a)


@_elementwise
def rsqrt_grad(g: Array, result: Array) -> Array:
    """``g`` times the derivative of ``rsqrt`` where it is ``result``: ``-result^3 / 2``."""
    return g.dtype.type(-0.5) * g * (result * result * result)


@_elementwise
def logit_grad(g: Array, x: Array, least: float, most: float, other: float) -> Array:
    """``g / (x (1 - x))``, infinite where ``x`` is 0 or 1; ``other`` where it is below ``least`` or above ``most``."""
    t = x.dtype.type
    return np.where((x < t(least)) | (x > t(most)), t(other), g / (x * (1 - x) + t(0)))


@_elementwise
def nan_to_num(x: Array, nan: float, above: float, below: float) -> Array:
    """``x`` with ``nan`` for NaN, ``above`` for infinity, ``below`` for minus infinity."""
    t = x.dtype.type
    return np.where(np.isnan(x), t(nan), np.where(x == np.inf, t(above), np.where(x == -np.inf, t(below), x)))
