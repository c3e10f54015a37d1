"""Small formulas in one pass: powers, blends, distances, replacements. Half precision is computed in float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.array_likes import as_array
from wengert.arrays.plain.activations import _elementwise

if TYPE_CHECKING:
    from wengert.arrays.plain.widen import Array


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
def lerp(a: Array, b: Array, weight: float) -> Array:
    """``a + weight (b - a)``, from the nearer end, so that weights of 0 and 1 give the ends exactly."""
    w = a.dtype.type(weight)
    return a + w * (b - a) if abs(w) < 0.5 else b - (1 - w) * (b - a)


@_elementwise
def smooth_l1(a: Array, b: Array, beta: float) -> Array:
    """``d^2 / (2 beta)`` where the distance ``d`` of ``a`` and ``b`` is below ``beta``, else ``d - beta / 2``."""
    d, t = np.abs(a - b), a.dtype.type
    return np.where(d < t(beta), t(0.5) * d * d / t(beta), d - t(0.5) * t(beta))


@_elementwise
def nan_to_num(x: Array, nan: float, above: float, below: float) -> Array:
    """``x`` with ``nan`` for NaN, ``above`` for infinity, ``below`` for minus infinity."""
    t = x.dtype.type
    return np.where(np.isnan(x), t(nan), np.where(x == np.inf, t(above), np.where(x == -np.inf, t(below), x)))
