"""Special functions that NumPy lacks, to about 1e-15 relative in float64.

Computation is in float64 whatever the input (float16, bfloat16, float32 or float64); the result has the dtype of the
input. Shapes are preserved, inputs broadcast. Rational approximations are evaluated only on the elements of their
interval. Sources: W. J. Cody, "Rational Chebyshev approximations for the error function" (1969); M. J. Wichura,
Algorithm AS 241 (1988); the gamma-function fits are this project's own (Chebyshev nodes, 60 digits).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.arrays.array_likes import as_array
from wengert.arrays.plain.widen import by_interval, in_float64, result_type

if TYPE_CHECKING:

    from wengert.arrays.plain.widen import Array

    Coefficients = tuple[float, ...]

PI = 3.141592653589793
SQRT1_2 = 0.7071067811865476
INV_SQRT_PI = 0.5641895835477563
INV_SQRT_2PI = 0.3989422804014327
LOG_SQRT_2PI = 0.9189385332046727

# erf(x) = x P(x^2)/Q(x^2) for |x| <= 0.46875.
_ERF_P = (3.20937758913846947e03, 3.77485237685302021e02, 1.13864154151050156e02, 3.16112374387056560e00,
    1.85777706184603153e-1)
_ERF_Q = (2.84423683343917062e03, 1.28261652607737228e03, 2.44024637934444173e02, 2.36012909523441209e01, 1.0)
# exp(x^2) erfc(x) = P(x)/Q(x) for 0.46875 <= x <= 4.
_ERFC_P = (1.23033935479799725e03, 2.05107837782607147e03, 1.71204761263407058e03, 8.81952221241769090e02,
    2.98635138197400131e02, 6.61191906371416295e01, 8.88314979438837594e00, 5.64188496988670089e-1,
    2.15311535474403846e-8)
_ERFC_Q = (1.23033935480374942e03, 3.43936767414372164e03, 4.36261909014324716e03, 3.29079923573345963e03,
    1.62138957456669019e03, 5.37181101862009858e02, 1.17693950891312499e02, 1.57449261107098347e01, 1.0)
# x exp(x^2) erfc(x) = 1/sqrt(pi) - x^-2 P(x^-2)/Q(x^-2) for x >= 4.
_ERFC_FAR_P = (6.58749161529837803e-4, 1.60837851487422766e-2, 1.25781726111229246e-1, 3.60344899949804439e-1,
    3.05326634961232344e-1, 1.63153871373020978e-2)
_ERFC_FAR_Q = (2.33520497626869185e-3, 6.05183413124413191e-2, 5.27905102951428412e-1, 1.87295284992346725e00,
    2.56852019228982242e00, 1.0)

# The inverse of the normal distribution: centre, shoulder and tail of AS 241.
_NDTRI_A = (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
    4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3)
_NDTRI_B = (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
    3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3)
_NDTRI_C = (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
    1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4)
_NDTRI_D = (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
    1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9)
_NDTRI_E = (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
    2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7)
_NDTRI_F = (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
    7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15)

# lgamma(2 + t) = t P(t)/Q(t) for -0.5 <= t <= 1.
_LGAMMA_P = (0.42278433509846714, 1.0322392924250592, 0.94169285984488958, 0.41725891887051172, 9.5276656758430387e-2,
    1.0761708654598557e-2, 5.1261442119891536e-4, 6.5461692195468094e-6)
_LGAMMA_Q = (1.0, 1.6788045347887331, 1.1062047574607787, 0.36196916412627269, 6.1244858012688135e-2,
    5.0463438419083323e-3, 1.6742041547219949e-4, 1.2994531242674539e-6)
# Stirling's series B_2k / (2k (2k-1)) in x^-2, and digamma's B_2k / 2k.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
_DIGAMMA_FAR = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
# digamma(1 + t) = (t + 1 - root) P(t)/Q(t) for 0 <= t <= 1; the root is the sum of two doubles.
_DIGAMMA_ROOT = (1.4616321437060833, 1.2622790435331673e-09)
_DIGAMMA_P = (1.2503801375034054, 1.8675925104074454, 0.97113275262623916, 0.21631407251432455, 1.9964082741519262e-2,
    5.8111350639856766e-4, 1.0894678528383954e-6)
_DIGAMMA_Q = (1.0, 2.1771665986671343, 1.6630736963665908, 0.5710455727133128, 9.1119022533032849e-2,
    6.1009756924348215e-3, 1.2043151172286901e-4)
# B_2k / (2k)! for the Euler-Maclaurin tail of the Hurwitz zeta function.
_ZETA_TAIL = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000)


def _poly(x: Array, coefficients: Coefficients) -> Array:
    """Evaluate a polynomial, lowest coefficient first."""
    value = coefficients[-1] * x
    for c in coefficients[-2:0:-1]:
        value += c
        value *= x
    value += coefficients[0]
    return value


def _ratio(x: Array, p: Coefficients, q: Coefficients) -> Array:
    return _poly(x, p) / _poly(x, q)


def _exp_minus_square(x: Array) -> Array:
    """Return exp(-x^2) without the error that rounding x^2 would bring: the square is taken in two exact parts."""
    head = np.trunc(x * 16.0) / 16.0
    return np.exp(-head * head) * np.exp(-(x - head) * (x + head))


def _erf_near(x: Array) -> Array:
    return x * _ratio(x * x, _ERF_P, _ERF_Q)


def _erfcx_middle(x: Array) -> Array:
    return _ratio(x, _ERFC_P, _ERFC_Q)


def _erfcx_far(x: Array) -> Array:
    z = 1.0 / (x * x)
    return (INV_SQRT_PI - z * _ratio(z, _ERFC_FAR_P, _ERFC_FAR_Q)) / x


def _erfc_positive(x: Array) -> Array:
    """erfc for x >= 0.46875."""
    x = np.minimum(x, 30.0)
    return _exp_minus_square(x) * by_interval(x, (x <= 4.0, _erfcx_middle), (x > 4.0, _erfcx_far))


@in_float64
def erf(x: Array) -> Array:
    """Error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
    size = np.abs(x)
    return by_interval(x,
        (size <= 0.46875, _erf_near),
        (size > 0.46875, lambda x: np.copysign(1.0 - _erfc_positive(np.abs(x)), x)))


@in_float64
def erfc(x: Array) -> Array:
    """Complementary error function 1 - erf(x), accurate where that would cancel."""
    return by_interval(x,
        (np.abs(x) <= 0.46875, lambda x: 1.0 - _erf_near(x)),
        (x > 0.46875, _erfc_positive),
        (x < -0.46875, lambda x: 2.0 - _erfc_positive(-x)))


@in_float64
def erfcx(x: Array) -> Array:
    """Scaled complementary error function exp(x^2) erfc(x)."""

    def negative(x: Array) -> Array:
        x = np.maximum(x, -30.0)
        head = np.trunc(x * 16.0) / 16.0
        grown = np.exp(head * head) * np.exp((x - head) * (x + head))
        return 2.0 * grown - by_interval(-x, (x >= -4.0, _erfcx_middle), (x < -4.0, _erfcx_far))

    return by_interval(x,
        (np.abs(x) <= 0.46875, lambda x: np.exp(x * x) * (1.0 - _erf_near(x))),
        ((x > 0.46875) & (x <= 4.0), _erfcx_middle),
        ((x > 4.0) & (x < 1e150), _erfcx_far),
        (x >= 1e150, lambda x: INV_SQRT_PI / x),
        (x < -0.46875, negative))


def _quantile(q: Array, tail: Array) -> Array:
    """Normal quantile of 0.5 + q, where ``tail`` is the probability beyond it (0.5 - |q|, computed without loss)."""
    centre = np.abs(q) <= 0.425

    def outer(sign: Array, tail: Array) -> Array:
        r = np.sqrt(-np.log(tail))
        value = by_interval(r,
            (r <= 5.0, lambda r: _ratio(r - 1.6, _NDTRI_C, _NDTRI_D)),
            ((r > 5.0) & (r < np.inf), lambda r: _ratio(r - 5.0, _NDTRI_E, _NDTRI_F)),
            (r == np.inf, lambda r: r))
        return np.copysign(value, sign)

    value = np.empty_like(q, np.float64)
    inner = q[centre]
    value[centre] = inner * _ratio(0.180625 - inner * inner, _NDTRI_A, _NDTRI_B)
    value[~centre] = outer(q[~centre], tail[~centre])
    return value


@in_float64
def erfinv(x: Array) -> Array:
    """Inverse of erf on [-1, 1]; NaN outside, infinite at the ends."""
    return _quantile(0.5 * x, 0.5 * (1.0 - np.abs(x))) * SQRT1_2


def _lower_tail(x: Array) -> Array:
    """ndtr for x <= 0, with the exponent -x^2/2 taken exactly: rounding x/sqrt(2) first would cost x^2 ulp."""
    x = np.maximum(x, -39.0)
    head = np.trunc(x * 16.0) / 16.0
    density = np.exp(-0.5 * head * head) * np.exp(-0.5 * (x - head) * (x + head))
    return 0.5 * density * erfcx(-x * SQRT1_2)


@in_float64
def ndtr(x: Array) -> Array:
    """Distribution function of the standard normal."""
    return by_interval(x, (x <= 0.0, _lower_tail), (x > 0.0, lambda x: 1.0 - _lower_tail(-x)))


@in_float64
def ndtri(p: Array) -> Array:
    """Quantile function of the standard normal: the inverse of ``ndtr`` on [0, 1]."""
    return _quantile(p - 0.5, np.minimum(p, 1.0 - p))


@in_float64
def log_ndtr(x: Array) -> Array:
    """Logarithm of ``ndtr``, accurate far into the lower tail."""
    return by_interval(x,
        (x < -1.0, lambda x: np.log(erfcx(-x * SQRT1_2) * 0.5) - 0.5 * x * x),
        (x >= -1.0, lambda x: np.log1p(-ndtr(-x))))


def series(t: Array, coefficients: Coefficients) -> Array:
    """The Chebyshev series of these coefficients at ``t`` in [-1, 1], by Clenshaw's recurrence."""
    twice, a, b = 2.0 * t, np.zeros_like(t), np.zeros_like(t)
    for c in coefficients[:0:-1]:
        a, b = twice * a - b + c, a
    return t * a - b + coefficients[0]


def _lgamma_positive(x: Array) -> Array:
    def near_two(t: Array) -> Array:
        return t * _ratio(t, _LGAMMA_P, _LGAMMA_Q)

    def middle(x: Array) -> Array:
        product = np.ones(x.shape)
        x = x.copy()
        while (above := x >= 3.0).any():
            x[above] -= 1.0
            product[above] *= x[above]
        return np.log(product) + near_two(x - 2.0)

    def far(x: Array) -> Array:
        return (x - 0.5) * (np.log(x) - 1.0) + (LOG_SQRT_2PI - 0.5) + _poly(1.0 / (x * x), _STIRLING) / x

    return by_interval(x,
        (x < 0.5, lambda x: near_two(x) - np.log(x) - np.log1p(x)),
        ((x >= 0.5) & (x < 1.5), lambda x: near_two(x - 1.0) - np.log1p(x - 1.0)),
        ((x >= 1.5) & (x < 3.0), lambda x: near_two(x - 2.0)),
        ((x >= 3.0) & (x < 10.0), middle),
        ((x >= 10.0) & (x < 1e100), far),
        ((x >= 1e100) & (x < np.inf), lambda x: x * (np.log(x) - 1.0)),
        (x == np.inf, lambda x: x))


def _sin_pi(x: Array) -> Array:
    """sin(pi x) with the period removed exactly."""
    r = x - 2.0 * np.round(0.5 * x)
    r = np.where(r > 0.5, 1.0 - r, np.where(r < -0.5, -1.0 - r, r))
    return np.sin(PI * r)


@in_float64
def lgamma(x: Array) -> Array:
    """Logarithm of the absolute value of the gamma function; infinite at zero, the negative integers and infinities."""
    return by_interval(x,
        (x > 0.0, _lgamma_positive),
        ((x <= 0.0) & (x != np.floor(x)), lambda x: np.log(PI / np.abs(_sin_pi(x))) - _lgamma_positive(1.0 - x)),
        ((x <= 0.0) & (x == np.floor(x)), lambda x: np.full(x.shape, np.inf)))


def _digamma_positive(x: Array) -> Array:
    def near(x: Array) -> Array:
        shift = np.zeros_like(x, np.float64)
        below = x < 1.0
        shift[below] = 1.0 / x[below]
        t = np.where(below, x, x - 1.0)
        away = np.where(below, x + 1.0, x) - _DIGAMMA_ROOT[0] - _DIGAMMA_ROOT[1]
        return away * _ratio(t, _DIGAMMA_P, _DIGAMMA_Q) - shift

    def far(x: Array) -> Array:
        shift = np.zeros_like(x, np.float64)
        x = x.copy()
        while (low := x < 10.0).any():
            shift[low] += 1.0 / x[low]
            x[low] += 1.0
        z = 1.0 / (x * x)
        return np.log(x) - 0.5 / x - z * _poly(z, _DIGAMMA_FAR) - shift

    return by_interval(x, (x <= 2.0, near), ((x > 2.0) & (x < np.inf), far), (x == np.inf, lambda x: x))


@in_float64
def digamma(x: Array) -> Array:
    """Logarithmic derivative of the gamma function; NaN at the negative integers, infinite (signed) at zero."""
    return by_interval(x,
        (x > 0.0, _digamma_positive),
        ((x < 0.0) & (x != np.floor(x)),
            lambda x: _digamma_positive(1.0 - x) - PI * np.cos(PI * (r := x - np.round(x))) / np.sin(PI * r)),
        (x == 0.0, lambda x: np.copysign(np.inf, -x)))


@in_float64
def zeta(s: Array, q: Array) -> Array:
    """Hurwitz zeta function, the sum of (q + k)^-s over k >= 0, for s > 1 (Euler-Maclaurin after nine terms)."""
    s, q = np.broadcast_arrays(s, q)
    pole = (q <= 0.0) & (q == np.floor(q))
    invalid = (s < 1.0) | ((q <= 0.0) & ~pole & (s != np.floor(s)))
    total, a, done, terms = q**-s, q, pole | invalid, 0
    while terms < 9 or (a[~done] < 9.0).any():  # at least nine terms, and as many as lift a negative q above nine
        a, terms = a + 1.0, terms + 1
        b = a**-s
        total = np.where(done, total, total + b)
        done |= (a > 0) & (b < total * 1e-17)  # and so is the rest
    tail = b * a / (s - 1.0) - 0.5 * b
    factor = s / a
    for k, c in enumerate(_ZETA_TAIL):
        tail = tail + c * factor * b
        factor = factor * (s + 2 * k + 1) * (s + 2 * k + 2) / (a * a)
    total = np.where(done, total, total + tail)
    total = np.where(pole | (s == 1.0), np.inf, total)
    return np.where(invalid, np.nan, total)


def polygamma(n: int, x: Array) -> Array:
    """Derivative of order ``n`` >= 0 of ``digamma``.

    Orders above zero are ``(-1)^(n+1) n! zeta(n+1, x)``, except that order one is reflected for negative ``x``.
    """
    x = as_array(x)
    if n == 0:
        return digamma(x)
    if n == 1:
        return rounded_poles(x, trigamma(x)).astype(result_type(x), copy=False)
    factorial = float(np.prod(np.arange(1.0, n + 1.0)))
    value = zeta(np.float64(n + 1), x.astype(np.float64)) * (factorial if n % 2 else -factorial)
    return value.astype(result_type(x), copy=False)


def rounded_poles(x: Array, value: Array) -> Array:
    """``trigamma`` with what PyTorch gives at negative whole numbers: as much as rounding leaves of infinity."""
    kind: Any = np.float64 if x.dtype == np.float64 else np.float32
    with np.errstate(all="ignore"):
        large = (PI / np.sin(kind(PI) * x.astype(kind, copy=False))) ** 2
    return np.where((x < 0) & (x == np.floor(x)), large, value)


@in_float64
def trigamma(x: Array) -> Array:
    """Derivative of ``digamma``."""

    def positive(x: Array) -> Array:
        total = np.zeros(x.shape)
        x = x.copy()
        while (low := x < 10.0).any():
            total[low] += 1.0 / (x[low] * x[low])
            x[low] += 1.0
        z = 1.0 / (x * x)
        # The derivative of digamma's series: 1/x + 1/(2 x^2) + sum of B_2k x^-(2k+1).
        series = _poly(z, tuple(2.0 * (k + 1) * c for k, c in enumerate(_DIGAMMA_FAR)))
        return total + 1.0 / x + 0.5 * z + z / x * series

    return by_interval(x, (x > 0.0, positive), (x <= 0.0, lambda x: (PI / _sin_pi(x)) ** 2 - positive(1.0 - x)))
