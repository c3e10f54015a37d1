"""Bessel, Airy and incomplete gamma functions and orthogonal polynomials, to about 1e-15 in float64.

Elementwise over float16, bfloat16, float32 and float64 arrays that broadcast together; computed in float64 and
delivered in the arguments' type. The Bessel and Airy functions are Chebyshev series: of the function itself near the
origin, of its amplitude or modulus and phase far away (M. Abramowitz and I. Stegun, "Handbook of Mathematical
Functions", chapters 9 and 10). The coefficients are in ``special_tables``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import dtypes as dt
from . import kernels as K
from .array_likes import as_array
from .plain.widen import by_interval, in_float64

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = np.ndarray[Any, Any]

PI = 3.141592653589793


def _series(name: str, t: Array) -> Array:
    """The Chebyshev series ``name`` at ``t`` in [-1, 1], by Clenshaw's recurrence."""
    from . import special_tables

    return K.series(t, getattr(special_tables, name))


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
def modified_i(x: Array, order: int, scaled: bool = False) -> Array:
    """Modified Bessel function of the first kind; ``scaled``: times ``exp(-abs(x))``."""
    a = np.abs(x)
    value = _scaled_i(a, order)
    if not scaled:
        value = np.where(a == np.inf, np.nan, _grown(value, a))  # as in PyTorch: infinity times nothing
    return np.copysign(value, x) if order else value


@in_float64
def modified_k(x: Array, order: int, scaled: bool = False) -> Array:
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
def bessel_j(x: Array, order: int) -> Array:
    """Bessel function of the first kind."""
    value = _split(np.abs(x), 8.0, lambda x: _near_j(x, order), lambda x: _wave(x, order, False))
    return np.where(x < 0, -value, value) if order else value


@in_float64
def bessel_y(x: Array, order: int) -> Array:
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
    """Airy function Ai."""

    def left(x: Array) -> Array:
        x = -x
        z = 2 / 3 * x * np.sqrt(x)
        t = 2 * (_AIRY_LEFT / z) ** 2 - 1
        value = np.sin(z + PI / 4) * _series("AI_LEFT_F", t) - np.cos(z + PI / 4) * _series("AI_LEFT_G", t) / z
        return value / np.sqrt(np.sqrt(x))

    def right(x: Array) -> Array:
        z = 2 / 3 * x * np.sqrt(x)
        return np.exp(-z) * _series("AI_RIGHT", 2 * _AIRY_RIGHT / z - 1) / np.sqrt(np.sqrt(x))

    return _split(x, -6.0, left, lambda x: _split(x, 2.0, lambda x: _series("AI_NEAR", x / 4 + 0.5), right))


_AIRY_LEFT, _AIRY_RIGHT = 2 / 3 * 6.0**1.5, 2 / 3 * 2.0**1.5


# -- multivariate and incomplete gamma functions ---------------------------------------------------------------------


def mvlgamma(x: Array, p: int) -> Array:
    """Logarithm of the multivariate gamma function of dimension ``p``."""
    if dt.is_half(x.dtype):  # rounded where PyTorch's tensors are
        shifts = np.arange(-p / 2 + 0.5, 0.5, 0.5).astype(x.dtype)
        parts = K.lgamma(x[..., None] + shifts).astype(np.float32)
        total = np.add.reduce(parts, -1).astype(x.dtype).astype(np.float32)
        rest = as_array(p * (p - 1) / 4 * np.log(PI)).astype(x.dtype).astype(np.float32)
        return as_array(total + rest).astype(x.dtype)
    wide = x.astype(np.float64)
    total = sum((K.lgamma(wide - j / 2) for j in range(p)), np.full(x.shape, p * (p - 1) / 4 * np.log(PI)))
    return as_array(total).astype(x.dtype, copy=False)


def _gamma_prefactor(a: Array, x: Array) -> Array:
    """``x^a exp(-x) / gamma(a)``, by way of Stirling's series where the powers would cancel."""
    small = a < 20
    direct = np.exp(np.where(small, a * np.log(x) - x - K.lgamma(np.where(small, a, 1.0)), 0.0))
    mu = (x - a) / a
    correction = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / (a * a)) / (a * a)) / (a * a)) / a
    stirling = np.sqrt(a / (2 * PI)) * np.exp(np.where(small, 0.0, a * (np.log1p(mu) - mu) - correction))
    return np.where(small, direct, stirling)


def _lower_series(a: Array, x: Array) -> Array:
    """P(a, x) by its power series, for x up to about a."""
    term = 1 / a
    total = term.copy()
    n = 0.0
    while n < 10000 and (np.abs(term) > np.abs(total) * 1e-17).any():
        n += 1
        term = term * (x / (a + n))
        total = total + term
    return total * _gamma_prefactor(a, x)


def _upper_fraction(a: Array, x: Array) -> Array:
    """Q(a, x) by its continued fraction (modified Lentz), for x above a."""
    tiny = 1e-300
    b = x + 1 - a
    c, d = np.full(x.shape, 1 / tiny), 1 / b
    value = d.copy()
    for n in range(1, 10000):
        step = -n * (n - a)
        b = b + 2
        d = 1 / np.where((down := step * d + b) == 0, tiny, down)
        c = np.where((up := b + step / c) == 0, tiny, up)
        factor = c * d
        value = value * factor
        if not (np.abs(factor - 1) > 1e-16).any():
            break
    return value * _gamma_prefactor(a, x)


def _upper_uniform(a: Array, x: Array) -> Array:
    """Q(a, x) for large a and x near a: N. M. Temme's uniform expansion, first terms."""
    mu = (x - a) / a
    eta = np.copysign(np.sqrt(2 * (mu - np.log1p(mu))), mu)
    c0 = -1 / 3 + eta * (1 / 12 + eta * (-2 / 135 + eta * (1 / 864 + eta * (1 / 2835 - eta * 139 / 777600))))
    c1 = -1 / 540 + eta * (-1 / 288 + eta * (1 / 378 - eta * 77 / 77760))
    return 0.5 * K.erfc(eta * np.sqrt(a / 2)) + np.exp(-a * eta * eta / 2) / np.sqrt(2 * PI * a) * (c0 + c1 / a)


def _gamma_parts(a: Array, x: Array) -> tuple[Array, Array]:
    """``(P, Q)``, the lower and upper regularised incomplete gamma functions; NaN for negative arguments."""
    a, x = np.broadcast_arrays(a, x)
    lower, upper = np.full_like(a, np.nan), np.full_like(a, np.nan)
    plain = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    uniform = plain & (a > 1e4) & (np.abs(x - a) < 0.05 * a)
    series = plain & ~uniform & ((x <= 1) | (x <= a))
    fraction = plain & ~uniform & ~series
    for mask, function in ((uniform, _upper_uniform), (fraction, _upper_fraction)):
        if mask.any():
            upper[mask] = function(a[mask], x[mask])
            lower[mask] = 1 - upper[mask]
    if series.any():
        lower[series] = _lower_series(a[series], x[series])
        upper[series] = 1 - lower[series]
    for mask, value in (
        ((a > 0) & (x == 0), 0.0), ((a == 0) & (x > 0), 1.0), ((a == np.inf) & (x >= 0) & (x < np.inf), 0.0),
        ((x == np.inf) & (a >= 0) & (a < np.inf), 1.0),
    ):
        lower[mask], upper[mask] = value, 1 - value
    return lower, upper


@in_float64
def gammainc(a: Array, x: Array) -> Array:
    """Regularised lower incomplete gamma function P(a, x)."""
    return _gamma_parts(a, x)[0]


@in_float64
def gammaincc(a: Array, x: Array) -> Array:
    """Regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x)."""
    return _gamma_parts(a, x)[1]


# -- orthogonal polynomials ------------------------------------------------------------------------------------------


def polynomial(x: Any, n: Any, first: Callable[[Array], Array],
        step: Callable[[Array, int, Array, Array], Array]) -> Array:
    """The polynomial of degree ``n`` (an array of whole numbers; zero where negative) at ``x``, by its recurrence.

    ``first(x)`` is the polynomial of degree 1, ``step(x, k, p, q)`` that of degree k + 1 from those of degree k and
    k - 1.
    """
    d = as_array(x).dtype
    with np.errstate(all="ignore"):
        x, n = np.broadcast_arrays(as_array(x, np.float64), np.trunc(as_array(n, np.float64)))
        value = np.where(n < 0, 0.0, np.where(n == 0, 1.0, np.nan))
        q, p = np.ones(x.shape), first(x)
        top = int(n.max(initial=0.0, where=np.isfinite(n)))
        if top > 2**20:  # a step takes microseconds
            raise RuntimeError(f"the degree {top} of a polynomial is too large: at most {2**20} steps of its "
                "recurrence are taken")
        for k in range(1, top + 1):
            if not np.isfinite(p).any():
                break
            value = np.where(n == k, p, value)
            p, q = step(x, k, p, q), p
    return value.astype(d, copy=False)
