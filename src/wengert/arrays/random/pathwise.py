"""How gamma and beta numbers move with their parameters: derivatives of samples at a fixed quantile.

If ``F(x; a)`` is the distribution function, a sample drawn for the parameter ``a`` moves by
``dx/da = -(dF/da) / (dF/dx)`` as ``a`` does. ``dF/da`` has no closed form. By region: a power series in ``x``, an
expansion around the saddle point for large parameters, and in between a rational function that was fitted to the
logarithm of the derivative (gamma) or to its ratio to a simple approximation (beta); to about 1e-3. Formulas and fitted
numbers are those of Jankowiak and Obermeyer, "Pathwise Derivatives Beyond the Reparameterization Trick" (ICML 2018), as
PyTorch uses them, so that samples have its gradients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import kernels as K

if TYPE_CHECKING:
    from numpy.typing import NDArray

# log(dx/da) = p / q; row i: coefficients of u**i, u = log(x / a); first half (p) and second half (q) ascending in v =
# log(a)
_GAMMA = np.array(
    [
        [0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089, 0.0014179084],
        [0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915, -0.00058392623],
        [0.040121004, -0.0065914022, -0.0026286047, -0.0013441777, 0.017050642, -0.0021309326, 0.00085092367,
            -1.5247877e-07],
    ]
)
# the correction p / q; [p or q][power of log(x)][power of a][power of b], a = log(alpha / x), b = log(total) - a
_BETA = np.array(
    [
        [
            [[1.003668233, -0.01061107488, -0.0657888334, 0.01201642863],
                [0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033],
             [-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013]],
            [[0.221950385, -0.3187676331, 0.01799915743, 0.01074823814],
                [-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057],
             [0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05]],
            [[-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565],
                [0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181],
             [0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05]],
        ],
        [
            [[1, -0.02924021934, -0.04438342661, 0.007285809825],
                [0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521],
             [-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149]],
            [[0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273],
                [0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956],
             [-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05]],
            [[0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05],
                [0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05],
             [-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06]],
        ],
    ]
)


def gamma_by_shape(shape: NDArray, sample: NDArray) -> NDArray:
    """``dx/da`` of gamma numbers ``sample`` of unit rate by their parameters ``shape``, in double precision."""
    a, x = np.broadcast_arrays(shape.astype(np.float64), sample.astype(np.float64))
    return _by_region((x < 0.8, _gamma_small), (a > 8, _gamma_large), (None, _gamma_between), arguments=(a, x))


def dirichlet_by_concentration(sample: NDArray, concentration: NDArray, total: NDArray) -> NDArray:
    """``dx/da / (1 - x)`` of shares: beta numbers of parameters ``concentration`` and ``total - concentration``."""
    x, a, t = np.broadcast_arrays(*(v.astype(np.float64) for v in (sample, concentration, total)))
    b = t - a
    spread = t * x * (1 - x)
    return _by_region(
        ((x <= 0.5) & (spread < 2.5), _beta_low),
        ((x >= 0.5) & (spread < 0.75), _beta_high),
        ((a > 6) & (b > 6), _beta_large),
        (None, _beta_between),
        arguments=(x, a, b),
    )


def _by_region(*regions: tuple[NDArray | None, object], arguments: tuple[NDArray, ...]) -> NDArray:
    """Each element by the formula of the first region that it lies in."""
    out = np.empty(arguments[0].shape, np.float64)
    left = np.ones(out.shape, bool)
    with np.errstate(all="ignore"):
        for where, formula in regions:
            here = left if where is None else left & where
            if here.any():
                out[here] = formula(*(v[here] for v in arguments))  # type: ignore[operator]
            left = left & ~here
    return out


def _gamma_small(a: NDArray, x: NDArray) -> NDArray:
    """The distribution function as a power series: ``x**a * sum((-x)**i / i! / (a + i))``."""
    term: NDArray | float = 1.0
    series, by_a = 1 / a, 1 / a**2
    for i in range(1, 6):
        term = term * (-x / i)
        series, by_a = series + term / (a + i), by_a + term / (a + i) ** 2
    power = x**a
    rising = (np.log(x) - K.digamma(a)) * (power * series) - power * by_a
    return np.nan_to_num(-rising / (x ** (a - 1) * np.exp(-x)), nan=0.0, posinf=np.inf, neginf=-np.inf)


def _gamma_large(a: NDArray, x: NDArray) -> NDArray:
    """Around the saddle point; next to the mean, where that is 0 / 0, its Taylor expansion."""
    near = (
        (1 + 24 * a * (1 + 12 * a)) * (1440 * a**2 + 6 * x * (53 - 120 * x) - 65 * x**2 / a + a * (107 + 3600 * x)) / (
            1244160 * a**4))
    root, log = np.sqrt(8 * a), np.log(x / a)
    curve = (x - a - a * log) ** -1.5
    slope = log * (root / (a - x) + np.where(x < a, -curve, curve)) - np.sqrt(2 / a) * (a + x) / (a - x) ** 2
    stirling = 1 + 1 / (12 * a) * (1 + 1 / (24 * a))
    return np.where((0.9 * a <= x) & (x <= 1.1 * a), near, -stirling * x * slope / root)


def _gamma_between(a: NDArray, x: NDArray) -> NDArray:
    by_v = _poly(np.log(x / a), np.expand_dims(_GAMMA, tuple(range(2, 2 + x.ndim))))
    v = np.log(a)
    return np.asarray(np.exp(_poly(v, by_v[:4]) / _poly(v, by_v[4:])))


def _poly(x: NDArray, coefficients: NDArray) -> NDArray:
    """A polynomial whose ascending coefficients differ from element to element."""
    total = coefficients[-1] + 0 * x
    for c in coefficients[-2::-1]:
        total = c + total * x
    return np.asarray(total)


def _beta_low(x: NDArray, a: NDArray, b: NDArray) -> NDArray:
    """Series for small ``x``."""
    shift = K.digamma(a) - K.digamma(a + b) - np.log(x)
    term: NDArray | float = 1.0
    series = (shift + 1 / a) / a
    for i in range(1, 11):
        term = term * ((i - b) * x / i)
        series = series + term / (a + i) * (shift + 1 / (a + i))
    return np.nan_to_num(x * (1 - x) ** -b * series, nan=0.0, posinf=np.inf, neginf=-np.inf)


def _beta_high(x: NDArray, a: NDArray, b: NDArray) -> NDArray:
    """Series for small ``1 - x``: by the other parameter of the mirrored number."""
    y = 1 - x
    shift = K.digamma(a + b) - K.digamma(a)
    falling: NDArray | float = 1.0  # (a - 1)(a - 2)... and its derivative
    slope: NDArray | float = 0.0
    term: NDArray | float = 1.0
    series = shift / b
    for i in range(1, 9):
        term = term * (-y / i)
        slope = slope * (a - i) + falling
        falling = falling * (a - i)
        series = series + term / (b + i) * (slope + shift * falling)
    return np.nan_to_num((1 - y) ** (1 - a) * series, nan=0.0, posinf=np.inf, neginf=-np.inf)


def _beta_large(x: NDArray, a: NDArray, b: NDArray) -> NDArray:
    """Both parameters are large: around the saddle point, and next to the mean a Taylor expansion."""
    t = a + b
    mean, deviation = a / t, np.sqrt(a * b / (t + 1)) / t
    poly = 47 * x * b**4 + a * (
        (43 + 20 * (16 + 27 * b) * x) * b**3
        + a * (
            3 * (59 + 180 * b - 90 * x) * b**2 + a * (
                (453 + 1620 * b * (1 - x) - 455 * x) * b + a * (8 * (1 - x) * (135 * b - 11))))
    )
    near = (1 + 12 * a) * (1 + 12 * b) / t**2 / (1 - x) * poly / (12960 * a**3 * b**2 * (1 + 12 * t))
    off = a * (x - 1) + b * x
    first = (2 * a**2 * (x - 1) + a * b * (x - 1) - x * b**2) / (np.sqrt(2 * a / b) * t**1.5 * off**2)
    curve = (b * np.log(b / (t * (1 - x))) + a * np.log(a / (t * x))) ** -1.5
    second = 0.5 * np.log(a / (t * x)) * (np.sqrt(8 * a * b / t) / off + np.where(x < mean, curve, -curve))
    stirling = _stirling(a) * _stirling(b) / _stirling(t)
    far = -stirling * x / np.sqrt(2 * a * b / t) * (first + second)
    return np.where((mean - 0.1 * deviation <= x) & (x <= mean + 0.1 * deviation), near, far)


def _stirling(a: NDArray) -> NDArray:
    return 1 + 1 / (12 * a) + 1 / (288 * a**2)


def _beta_between(x: NDArray, a: NDArray, b: NDArray) -> NDArray:
    t = a + b
    u = np.log(x)
    v = np.log(a) - u
    w = np.log(t) - v
    p, q = (sum(_poly(w, _BETA[k, i, j]) * u**i * v**j for i in range(3) for j in range(3)) for k in range(2))
    return np.asarray(p / q * (x * (K.digamma(t) - K.digamma(a)) / b))
