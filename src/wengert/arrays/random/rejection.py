"""Poisson, gamma and binomial numbers: each takes as many uniforms as its luck requires, one element after another."""

from __future__ import annotations

from math import ceil, exp, fabs, floor, inf, lgamma, log, log1p, nan, sqrt
from typing import TYPE_CHECKING

from numpy import float32

from .stream import normal_pair

if TYPE_CHECKING:
    from .stream import Doubles, Stream


def poisson(rate: float, uniform: Doubles) -> float:
    """One Poisson number: by multiplying uniforms (Knuth) below rate 10, by PTRS (Hörmann, 1993) above."""
    if rate >= 10:
        return _poisson_large(rate, uniform)
    if rate == 0:
        return 0.0
    limit, product, count = exp(-rate), 1.0, 0
    while True:
        product *= uniform()
        if product <= limit:
            return float(count)
        count += 1


def _poisson_large(rate: float, uniform: Doubles) -> float:
    if rate == inf:
        return inf
    log_rate = log(rate)
    b = 0.931 + 2.53 * sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = uniform() - 0.5
        v = uniform()
        us = 0.5 - fabs(u)
        k = floor((2 * a / us + b) * u + rate + 0.43) if us else -1
        if us >= 0.07 and v <= v_r:
            return float(k)
        if k < 0 or (us < 0.013 and v > us):
            continue
        tail = (log(v) if v else -inf) + log(inverse_alpha) - log(a / (us * us) + b)
        if tail <= -rate + k * log_rate - lgamma(k + 1):
            return float(k)


# PyTorch writes these two constants in single precision, and keeps the parameter in its own.
_THIRD = 0.3333333432674408
_SQUEEZE = 0.03310000151395798


def gamma(shape: float, uniform: Doubles, stream: Stream, single: bool = False) -> float:
    """One gamma number of unit scale (Marsaglia and Tsang, 2000). ``single``: the parameter is a float32."""

    def held(value: float) -> float:
        return float(float32(value)) if single else value

    if not shape >= 0.0:
        return nan
    scale = 1.0
    if shape < 1.0:
        if shape == 0.0:
            return 0.0
        scale = (1.0 - uniform()) ** held(1.0 / shape)
        shape = held(shape + 1.0)
    d = held(shape - _THIRD)
    c = 1.0 / sqrt(9.0 * d)
    while True:
        y = 0.0
        while y <= 0.0:
            x = _normal(uniform, stream)
            y = 1.0 + c * x
        v = y * y * y
        u = 1.0 - uniform()
        xx = x * x
        if u < 1.0 - _SQUEEZE * xx * xx or log(u) < 0.5 * xx + d * (1.0 - v + log(v)):
            return scale * d * v


def _normal(uniform: Doubles, stream: Stream) -> float:
    if stream.spare is not None:
        spare, stream.spare = stream.spare, None
        return spare
    angular = uniform()
    normal, stream.spare = normal_pair(uniform(), angular)
    return normal


def binomial(count: float, probability: float, uniform: Doubles) -> float:
    """The number of successes in ``count`` trials; NaN where either is NaN."""
    if count <= 0.0 or probability <= 0.0:
        return 0.0
    if probability >= 1.0:
        return count
    if probability != probability or count != count:
        return nan
    rarer = min(probability, 1.0 - probability)
    sample = _binomial_large if count * rarer >= 10.0 else _binomial_waiting
    hits = sample(count, rarer, uniform)
    return hits if probability <= 0.5 else count - hits


def _binomial_waiting(count: float, probability: float, uniform: Doubles) -> float:
    """By adding up the geometric waiting times between successes."""
    log_miss = log1p(-probability)
    trials = hits = 0.0
    while True:
        u = uniform()
        trials += ceil(log(u) / log_miss) if u else inf
        if trials > count:
            return hits
        hits += 1.0


_STIRLING_TAIL = (0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287)


def _stirling_tail(k: float) -> float:
    """What Stirling's formula lacks of ``log(k!)``."""
    if k <= 9:
        return _STIRLING_TAIL[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def _binomial_large(count: float, probability: float, uniform: Doubles) -> float:
    """BTRS (Hörmann, 1993)."""
    spread = sqrt(count * probability * (1 - probability))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * probability
    c = count * probability + 0.5
    v_r = 0.92 - 4.2 / b
    odds = probability / (1 - probability)
    alpha = (2.83 + 5.1 / b) * spread
    m = floor((count + 1) * probability)
    while True:
        u = uniform() - 0.5
        v = uniform()
        us = 0.5 - fabs(u)
        k = floor((2 * a / us + b) * u + c) if us else -1
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= v_r:
            return float(k)
        v = v * alpha / (a / (us * us) + b)
        bound = ((m + 0.5) * log((m + 1) / (odds * (count - m + 1)))
            + (count + 1) * log((count - m + 1) / (count - k + 1)) + (k + 0.5) * log(odds * (count - k + 1) / (k + 1))
            + _stirling_tail(m) + _stirling_tail(count - m) - _stirling_tail(k) - _stirling_tail(count - k))
        if (log(v) if v else -inf) <= bound:
            return float(k)
