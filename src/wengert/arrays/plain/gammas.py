"""Incomplete gamma functions, to about 1e-14 in float64.

Elementwise over float16, bfloat16, float32 and float64 arrays that broadcast together; computed in float64 and
delivered in the arguments' type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.plain.special import erfc, lgamma
from wengert.arrays.plain.widen import in_float64

if TYPE_CHECKING:
    from wengert.arrays.plain.widen import Array

PI = 3.141592653589793


def _gamma_prefactor(a: Array, x: Array) -> Array:
    """``x^a exp(-x) / gamma(a)``, by way of Stirling's series where the powers would cancel."""
    small = a < 20
    direct = np.exp(np.where(small, a * np.log(x) - x - lgamma(np.where(small, a, 1.0)), 0.0))
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
    """Q(a, x) by its continued fraction, for x above a: numerators p and denominators q, each with the one before."""
    b = x + 1 - a
    p, q, last_p, last_q, value = np.ones(x.shape), b, np.zeros(x.shape), np.ones(x.shape), np.full(x.shape, np.nan)
    for n in range(1, 10000):
        b, step = b + 2, n * (a - n)
        p, last_p = b * p + step * last_p, p
        q, last_q = b * q + step * last_q, q
        arrived = np.isnan(value) & ~(np.abs(p * last_q - last_p * q) > 4e-16 * np.abs(p * last_q))
        value[arrived] = p[arrived] / q[arrived]  # further steps would add up their rounding errors
        if not np.isnan(value).any():
            break
        scale = np.where(np.abs(q) > 1e100, 1e-100, 1.0)
        p, q, last_p, last_q = p * scale, q * scale, last_p * scale, last_q * scale
    return np.where(np.isnan(value), p / q, value) * _gamma_prefactor(a, x)


def _upper_uniform(a: Array, x: Array) -> Array:
    """Q(a, x) for large a and x near a: N. M. Temme's uniform expansion, first terms."""
    mu = (x - a) / a
    eta = np.copysign(np.sqrt(2 * (mu - np.log1p(mu))), mu)
    c0 = -1 / 3 + eta * (1 / 12 + eta * (-2 / 135 + eta * (1 / 864 + eta * (1 / 2835 - eta * 139 / 777600))))
    c1 = -1 / 540 + eta * (-1 / 288 + eta * (1 / 378 - eta * 77 / 77760))
    return 0.5 * erfc(eta * np.sqrt(a / 2)) + np.exp(-a * eta * eta / 2) / np.sqrt(2 * PI * a) * (c0 + c1 / a)


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
