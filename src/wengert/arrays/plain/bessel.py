"""Bessel and Airy functions, to about 1e-15 in float64.

Elementwise over float16, bfloat16, float32 and float64 arrays that broadcast together; computed in float64 and
delivered in the arguments' type. They are Chebyshev series: of the function itself near the origin, of its
amplitude or modulus and phase far away (M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions", chapters 9
and 10). The coefficients are in ``special_tables``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays import special_tables
from wengert.arrays.plain.special import series
from wengert.arrays.plain.widen import by_interval, in_float64

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = np.ndarray[Any, Any]

PI = 3.141592653589793


def _series(name: str, t: Array) -> Array:
    """The Chebyshev series ``name`` at ``t`` in [-1, 1], by Clenshaw's recurrence."""
    return series(t, getattr(special_tables, name))


def _split(x: Array, at: float, near: Callable[[Array], Array], far: Callable[[Array], Array]) -> Array:
    """``near`` of the elements up to ``at``, ``far`` of those above; NaN of NaN."""
    return by_interval(x, (x <= at, near), (x > at, far))


# -- Bessel functions, of order 0 or 1 ---------------------------------------------------------------------------------


def _scaled_i(x: Array, order: int) -> Array:
    """``exp(-x) I(x)`` for x >= 0."""
    return _split(x, 8.0, lambda x: _series(f"I{order}_NEAR", x / 4 - 1) * (x if order else 1),
        lambda x: _series(f"I{order}_FAR", 16 / x - 1) / np.sqrt(x))


def _grown(scaled: Array, x: Array) -> Array:
    """``scaled * exp(x)``, in two steps so that nothing overflows before the result does."""
    half = np.exp(x / 2)
    return scaled * half * half


@in_float64
def _modified_i(x: Array, order: int, scaled: bool = False) -> Array:
    """Modified Bessel function of the first kind; ``scaled``: times ``exp(-abs(x))``."""
    a = np.abs(x)
    value = _scaled_i(a, order)
    if not scaled:
        value = np.where(a == np.inf, np.nan, _grown(value, a))  # as in PyTorch: infinity times nothing
    return np.where(x < 0, -value, value) if order else value


@in_float64
def _modified_k(x: Array, order: int, scaled: bool = False) -> Array:
    """Modified Bessel function of the second kind, infinite at zero, NaN below; ``scaled``: times ``exp(x)``."""

    def near(x: Array) -> Array:
        series, other = _series(f"K{order}_NEAR", x * x / 2 - 1), np.log(x / 2) * _grown(_scaled_i(x, order), x)
        return np.where(x == 0, np.inf, (series / x + other if order else series - other) * np.exp(x))

    value = _split(np.where(x < 0, np.nan, x), 2.0, near, lambda x: _series(f"K{order}_FAR", 4 / x - 1) / np.sqrt(x))
    return value if scaled else value * np.exp(-x)


def _wave(x: Array, order: int, second: bool) -> Array:
    """J or Y (``second``) for x > 8, from modulus and phase; the phase's sine and cosine without its rounding error."""
    t = 128 / (x * x) - 1
    p, q = _series(f"P{order}_FAR", t), _series(f"Q{order}_FAR", t) / x
    sin, cos = np.sin(x), np.cos(x)
    phase_cos, phase_sin = (cos + sin, sin - cos) if order == 0 else (sin - cos, -sin - cos)
    return (p * phase_sin + q * phase_cos if second else p * phase_cos - q * phase_sin) / np.sqrt(PI * x)


def _near_j(x: Array, order: int) -> Array:
    near = _series(f"J{order}_NEAR", np.minimum(x * x / 32 - 1, 1.0))
    return near * x if order else near


@in_float64
def _bessel_j(x: Array, order: int) -> Array:
    """Bessel function of the first kind."""
    value = _split(np.abs(x), 8.0, lambda x: _near_j(x, order), lambda x: _wave(x, order, False))
    return np.where(np.signbit(x), -value, value) if order else value


@in_float64
def _bessel_y(x: Array, order: int) -> Array:
    """Bessel function of the second kind; minus infinity at zero, NaN below."""

    def near(x: Array) -> Array:
        series, other = _series(f"Y{order}_NEAR", x * x / 32 - 1), np.log(x) * _near_j(x, order)
        value = series * x + 2 / PI * (other - 1 / x) if order else series + 2 / PI * other
        return np.where(x == 0, -np.inf, value)

    return _split(np.where(x < 0, np.nan, x), 8.0, near, lambda x: _wave(x, order, True))


@in_float64
def spherical_j0(x: Array) -> Array:
    """``sin(x) / x``, and 1 at zero."""
    return np.where(np.isinf(x), 0.0, np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 1.0, x)))


@in_float64
def airy_ai(x: Array) -> Array:
    """Airy function Ai; not a number at infinity, as in PyTorch."""

    def left(x: Array) -> Array:
        x = -x
        z = 2 / 3 * x * np.sqrt(x)
        t = 2 * (_AIRY_LEFT / z) ** 2 - 1
        value = np.sin(z + PI / 4) * _series("AI_LEFT_F", t) - np.cos(z + PI / 4) * _series("AI_LEFT_G", t) / z
        return value / np.sqrt(np.sqrt(x))

    def right(x: Array) -> Array:
        z = 2 / 3 * x * np.sqrt(x)
        value = np.exp(-z) * _series("AI_RIGHT", 2 * _AIRY_RIGHT / z - 1) / np.sqrt(np.sqrt(x))
        return np.where(x == np.inf, np.nan, value)

    return _split(x, -6.0, left, lambda x: _split(x, 2.0, lambda x: _series("AI_NEAR", x / 4 + 0.5), right))


_AIRY_LEFT, _AIRY_RIGHT = 2 / 3 * 6.0**1.5, 2 / 3 * 2.0**1.5


def _of_order(function: Callable[..., Array], *options: Any) -> Callable[..., Array]:
    def kernel(x: Array, out: Array | None = None) -> Array:
        return function(x, *options, out=out)

    kernel.__doc__ = function.__doc__
    return kernel


#: The kernels: each function of each order.
bessel_j0, bessel_j1, bessel_y0, bessel_y1 = (_of_order(f, n) for f in (_bessel_j, _bessel_y) for n in (0, 1))
modified_i0, modified_i1, modified_k0, modified_k1 = (_of_order(f, n) for f in (_modified_i, _modified_k)
    for n in (0, 1))
scaled_i0, scaled_i1, scaled_k0, scaled_k1 = (_of_order(f, n, True) for f in (_modified_i, _modified_k) for n in (0, 1))
