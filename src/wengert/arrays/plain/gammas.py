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


# eta / y in powers of eta, where eta^2 / 2 = y - log(1 + y).
_SADDLE = (
    1.0, -0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073,
    0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06,
    -1.85406221071516e-06, 8.296711340953087e-07, -1.7665952736826078e-07, 6.707853543401498e-09,
    1.0261809784240309e-08, -4.382036018453353e-09, 9.14769958223679e-10, -2.5514193994946248e-11,
    -5.830772132550426e-11, 2.4361948020667415e-11, -5.0276692801141755e-12, 1.1004392031956135e-13,
    3.371763262400985e-13)


def _excess(y: Array) -> Array:
    """``y - log(1 + y)``, exact near zero, too: ``y s - 2 (s^3/3 + s^5/5 + ...)`` with ``s = y / (2 + y)``."""
    s = y / (2 + y)
    z, rest = s * s, np.full(y.shape, 2 / 25)
    for k in range(23, 1, -2):
        rest = rest * z + 2 / k
    return np.where(np.abs(y) < 0.5, y * s - s * z * rest, y - np.log1p(y))


def _gamma_prefactor(a: Array, x: Array) -> Array:
    """``x^a exp(-x) / gamma(a)``, by way of Stirling's series where the powers would cancel."""
    small = a < 20
    direct = np.exp(np.where(small, a * np.log(x) - x - lgamma(np.where(small, a, 1.0)), 0.0))
    z = 1 / (a * a)
    correction = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - z / 1188) * z) * z) * z) / a
    stirling = np.sqrt(a / (2 * PI)) * np.exp(np.where(small, 0.0, -a * _excess((x - a) / a) - correction))
    return np.where(small, direct, stirling)


def _lower_series(a: Array, x: Array) -> Array:
    """P(a, x) by its power series, for x up to about a."""
    term, total = np.ones(x.shape), np.ones(x.shape)
    n = 0.0
    while n < 10000 and (np.abs(term) > np.abs(total) * 1e-17).any():
        n += 1
        term = term * (x / (a + n))
        total = total + term
    return total * (_gamma_prefactor(a, x) / a)


def _upper_fraction(a: Array, x: Array) -> Array:
    """Q(a, x) by its continued fraction, for x above a: numerators p and denominators q, each with the one before."""
    scale = _gamma_prefactor(a, x)
    value = np.where(scale == 0, 0.0, np.nan)  # zero, whatever overflows on the way
    b = x + 1 - a
    p, q, last_p, last_q = np.ones(x.shape), b, np.zeros(x.shape), np.ones(x.shape)
    for n in range(1, 10000):
        b, step = b + 2, n * (a - n)
        p, last_p = b * p + step * last_p, p
        q, last_q = b * q + step * last_q, q
        arrived = np.isnan(value) & ~(np.abs(p * last_q - last_p * q) > 4e-16 * np.abs(p * last_q))
        value[arrived] = p[arrived] / q[arrived]  # further steps would add up their rounding errors
        if not np.isnan(value).any():
            break
        down = np.where(np.abs(q) > 1e100, 1e-100, 1.0)
        p, q, last_p, last_q = p * down, q * down, last_p * down, last_q * down
    return np.where(np.isnan(value), p / q, value) * scale


def _uniform(a: Array, x: Array) -> Array:
    """For a of 20 and more and x near a: the smaller of P and Q.

    By N. M. Temme's uniform expansion with the coefficients as in A. Gil, J. Segura and N. M. Temme, "Efficient and
    accurate algorithms for the computation and inversion of the incomplete gamma function ratios" (2012).
    """
    y, last = (x - a) / a, len(_SADDLE) - 1
    half = _excess(y)
    eta = np.copysign(np.sqrt(2 * half), y)
    b = [np.zeros(a.shape) for _ in range(last + 2)]
    for n in range(last, 0, -1):
        b[n - 1] = _SADDLE[n] + (n + 1) * b[n + 1] / a
    total = np.zeros(a.shape)
    for n in range(last - 1, -1, -1):
        total = total * eta + b[n]
    rest = np.exp(-a * half) / np.sqrt(2 * PI * a) * total / (1 + b[1] / a)
    return 0.5 * erfc(np.abs(eta) * np.sqrt(a / 2)) + np.copysign(1.0, eta) * rest


def _gamma_parts(a: Array, x: Array) -> tuple[Array, Array]:
    """``(P, Q)``, the lower and upper regularised incomplete gamma functions; NaN for negative arguments."""
    a, x = np.broadcast_arrays(a, x)
    lower, upper = np.full_like(a, np.nan), np.full_like(a, np.nan)
    plain = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    uniform = plain & (a >= 20) & (np.abs(x - a) < 0.3 * a)
    series = plain & ~uniform & ((x <= 1) | (x <= a))
    fraction = plain & ~uniform & ~series
    if uniform.any():
        least, below = _uniform(a[uniform], x[uniform]), (x < a)[uniform]
        lower[uniform], upper[uniform] = np.where(below, least, 1 - least), np.where(below, 1 - least, least)
    if fraction.any():
        upper[fraction] = _upper_fraction(a[fraction], x[fraction])
        lower[fraction] = 1 - upper[fraction]
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


@in_float64
def log_multigamma(x: Array, p: float) -> Array:
    """Logarithm of the multivariate gamma function of dimension ``p``."""
    return sum((lgamma(x - j / 2) for j in range(int(p))), np.full(x.shape, p * (p - 1) / 4 * np.log(PI)))
