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
from .array_likes import as_array

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = np.ndarray[Any, Any]

PI = 3.141592653589793


def _elementwise(compute: Callable[..., Array]) -> Callable[..., Array]:
    """Make a function of float64 arrays one of arrays of any real type."""

    def function(*args: Any) -> Array:
        arrays = [as_array(a) for a in args]
        with np.errstate(all="ignore"):
            value = compute(*np.broadcast_arrays(*[a.astype(np.float64) for a in arrays]))
        return as_array(value).astype(arrays[0].dtype, copy=False)

    function.__name__ = function.__qualname__ = compute.__name__
    function.__doc__ = compute.__doc__
    return function


def _series(name: str, t: Array) -> Array:
    """The Chebyshev series ``name`` at ``t`` in [-1, 1], by Clenshaw's recurrence."""
    from . import special_tables

    coefficients = getattr(special_tables, name)
    twice, a, b = 2.0 * t, np.zeros_like(t), np.zeros_like(t)
    for c in coefficients[:0:-1]:
        a, b = twice * a - b + c, a
    result: Array = t * a - b + coefficients[0]
    return result


def _split(x: Array, at: float, near: Callable[[Array], Array], far: Callable[[Array], Array]) -> Array:
    """``near`` of the elements up to ``at``, ``far`` of those above; NaN of NaN."""
    value = np.full_like(x, np.nan, np.float64)
    for mask, function in ((x <= at, near), (x > at, far)):
        if mask.any():
            value[mask] = function(x[mask])
    return value


# -- modified Bessel functions ---------------------------------------------------------------------------------------


def _scaled_i0(x: Array) -> Array:
    return _split(x, 8.0, lambda x: _series("I0_NEAR", x / 4 - 1), lambda x: _series("I0_FAR", 16 / x - 1) / np.sqrt(x))


def _scaled_i1(x: Array) -> Array:
    return _split(x, 8.0, lambda x: x * _series("I1_NEAR", x / 4 - 1),
        lambda x: _series("I1_FAR", 16 / x - 1) / np.sqrt(x))


def _grown(scaled: Array, x: Array) -> Array:
    """``scaled * exp(x)``, in two steps so that nothing overflows before the result does."""
    half = np.exp(x / 2)
    return scaled * half * half


@_elementwise
def i0e(x: Array) -> Array:
    """``exp(-abs(x)) I0(x)``."""
    return _scaled_i0(np.abs(x))


@_elementwise
def i0(x: Array) -> Array:
    """Modified Bessel function of the first kind, order 0."""
    x = np.abs(x)
    return np.where(x == np.inf, np.nan, _grown(_scaled_i0(x), x))  # as in PyTorch: infinity times nothing


@_elementwise
def i1e(x: Array) -> Array:
    """``exp(-abs(x)) I1(x)``."""
    return np.copysign(_scaled_i1(np.abs(x)), x)


@_elementwise
def i1(x: Array) -> Array:
    """Modified Bessel function of the first kind, order 1."""
    a = np.abs(x)
    return np.copysign(np.where(a == np.inf, np.nan, _grown(_scaled_i1(a), a)), x)


def _scaled_k(order: int, x: Array) -> Array:
    """``exp(x) K(x)``; infinite at zero, NaN below."""

    def near(x: Array) -> Array:
        t = x * x / 2 - 1
        if order == 0:
            value = _series("K0_NEAR", t) - np.log(x / 2) * _grown(_scaled_i0(x), x)
        else:
            value = _series("K1_NEAR", t) / x + np.log(x / 2) * _grown(_scaled_i1(x), x)
        return np.where(x == 0, np.inf, value * np.exp(x))

    return _split(np.where(x < 0, np.nan, x), 2.0, near, lambda x: _series(f"K{order}_FAR", 4 / x - 1) / np.sqrt(x))


@_elementwise
def scaled_k0(x: Array) -> Array:
    """``exp(x) K0(x)``."""
    return _scaled_k(0, x)


@_elementwise
def scaled_k1(x: Array) -> Array:
    """``exp(x) K1(x)``."""
    return _scaled_k(1, x)


@_elementwise
def k0(x: Array) -> Array:
    """Modified Bessel function of the second kind, order 0; infinite at zero, NaN below."""
    return _scaled_k(0, x) * np.exp(-x)


@_elementwise
def k1(x: Array) -> Array:
    """Modified Bessel function of the second kind, order 1; infinite at zero, NaN below."""
    return _scaled_k(1, x) * np.exp(-x)


# -- Bessel functions ------------------------------------------------------------------------------------------------


def _wave(order: int, x: Array, second: bool) -> Array:
    """J or Y (``second``) for x > 8, from modulus and phase; the phase's sine and cosine without its rounding error."""
    t = 128 / (x * x) - 1
    p, q = _series(f"P{order}_FAR", t), _series(f"Q{order}_FAR", t) / x
    sin, cos = np.sin(x), np.cos(x)
    phase_cos, phase_sin = (cos + sin, sin - cos) if order == 0 else (sin - cos, -sin - cos)
    value = p * phase_sin + q * phase_cos if second else p * phase_cos - q * phase_sin
    return np.where(x == np.inf, 0.0, value / np.sqrt(PI * x))


def _j(order: int, x: Array) -> Array:
    near = _series(f"J{order}_NEAR", np.minimum(x * x / 32 - 1, 1.0))
    return near * x if order else near


@_elementwise
def j0(x: Array) -> Array:
    """Bessel function of the first kind, order 0."""
    return _split(np.abs(x), 8.0, lambda x: _j(0, x), lambda x: _wave(0, x, False))


@_elementwise
def j1(x: Array) -> Array:
    """Bessel function of the first kind, order 1."""
    value = _split(np.abs(x), 8.0, lambda x: _j(1, x), lambda x: _wave(1, x, False))
    return np.where(x < 0, -value, value)


def _y(order: int, x: Array) -> Array:
    def near(x: Array) -> Array:
        series = _series(f"Y{order}_NEAR", x * x / 32 - 1)
        if order == 0:
            value = series + 2 / PI * np.log(x) * _j(0, x)
        else:
            value = series * x + 2 / PI * (np.log(x) * _j(1, x) - 1 / x)
        return np.where(x == 0, -np.inf, value)

    return _split(np.where(x < 0, np.nan, x), 8.0, near, lambda x: _wave(order, x, True))


@_elementwise
def y0(x: Array) -> Array:
    """Bessel function of the second kind, order 0; minus infinity at zero, NaN below."""
    return _y(0, x)


@_elementwise
def y1(x: Array) -> Array:
    """Bessel function of the second kind, order 1; minus infinity at zero, NaN below."""
    return _y(1, x)


@_elementwise
def spherical_j0(x: Array) -> Array:
    """``sin(x) / x``, and 1 at zero."""
    return np.where(np.isinf(x), 0.0, np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 1.0, x)))


@_elementwise
def airy_ai(x: Array) -> Array:
    """Airy function Ai."""

    def left(x: Array) -> Array:
        x = -x
        z = 2 / 3 * x * np.sqrt(x)
        t = 2 * (_AIRY_LEFT / z) ** 2 - 1
        value = np.sin(z + PI / 4) * _series("AI_LEFT_F", t) - np.cos(z + PI / 4) * _series("AI_LEFT_G", t) / z
        return np.where(x == np.inf, 0.0, value / np.sqrt(np.sqrt(x)))

    def right(x: Array) -> Array:
        z = 2 / 3 * x * np.sqrt(x)
        return np.where(x == np.inf, 0.0,
            np.exp(-z) * _series("AI_RIGHT", 2 * _AIRY_RIGHT / z - 1) / np.sqrt(np.sqrt(x)))

    return _split(x, -6.0, left, lambda x: _split(x, 2.0, lambda x: _series("AI_NEAR", x / 4 + 0.5), right))


_AIRY_LEFT, _AIRY_RIGHT = 2 / 3 * 6.0**1.5, 2 / 3 * 2.0**1.5


# -- multivariate and incomplete gamma functions ---------------------------------------------------------------------


def mvlgamma(x: Array, p: int) -> Array:
    """Logarithm of the multivariate gamma function of dimension ``p``."""
    from . import kernels as K

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
    from . import kernels as K

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
    result: Array = total * _gamma_prefactor(a, x)
    return result


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
    from . import kernels as K

    mu = (x - a) / a
    eta = np.copysign(np.sqrt(2 * (mu - np.log1p(mu))), mu)
    c0 = -1 / 3 + eta * (1 / 12 + eta * (-2 / 135 + eta * (1 / 864 + eta * (1 / 2835 - eta * 139 / 777600))))
    c1 = -1 / 540 + eta * (-1 / 288 + eta * (1 / 378 - eta * 77 / 77760))
    rest = np.exp(-a * eta * eta / 2) / np.sqrt(2 * PI * a) * (c0 + c1 / a)
    result: Array = 0.5 * K.erfc(eta * np.sqrt(a / 2)) + rest
    return result


def _gamma_parts(a: Array, x: Array) -> tuple[Array, Array]:
    """``(P, Q)``, the lower and upper regularised incomplete gamma functions; NaN for negative arguments."""
    lower, upper = np.full_like(a, np.nan, np.float64), np.full_like(a, np.nan, np.float64)
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


@_elementwise
def gammainc(a: Array, x: Array) -> Array:
    """Regularised lower incomplete gamma function P(a, x)."""
    return _gamma_parts(a, x)[0]


@_elementwise
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
