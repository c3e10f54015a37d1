"""Pooling: the maximum or the average of each window. ``N`` images of ``C`` channels over one to three spatial axes."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.array_likes import new_filled
from wengert.arrays.plain.windows import window_counts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from wengert.arrays.plain.widen import Array
    from wengert.arrays.plain.windows import Ints


def _seen(size: Ints, counts: Ints, kernel: Ints, stride: Ints, padding: Ints,
        dilation: Ints) -> Iterator[tuple[Any, Any]]:
    """For each place of a window that sees the image somewhere: the windows where it does, and what they see there."""

    def along(n: int, m: int, k: int, s: int, p: int, d: int) -> list[tuple[slice, slice]]:
        found = []
        for at in range(max(0, -((m - 1) * s - p) // d), min(k, (p + n - 1) // d + 1)):
            offset = at * d - p
            first, last = max(0, -(offset // s)), min(m, (n - 1 - offset) // s + 1)
            if first < last:
                found.append((slice(first, last), slice(offset + first * s, offset + (last - 1) * s + 1, s)))
        return found

    axes = [along(*axis) for axis in zip(size, counts, kernel, stride, padding, dilation, strict=True)]
    for places in itertools.product(*axes):
        yield (..., *(windows for windows, _ in places)), (..., *(image for _, image in places))


def max_pool(x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
        ceil_mode: bool = False) -> tuple[Array, Array]:
    """Return the maximum of each window and its flat place (int64) within the spatial axes. NaN counts as largest."""
    n, c, *size = x.shape
    counts = window_counts(tuple(size), kernel, stride, padding, dilation, ceil_mode)
    lowest = -np.inf if x.dtype.kind not in "iub" else np.iinfo(x.dtype).min
    places = np.arange(math.prod(size)).reshape(size)
    best = np.full_like(x, lowest, shape=(n, c, *counts))
    index = np.full_like(x, -1, np.int64, shape=(n, c, *counts))
    for windows, image in _seen(tuple(size), counts, kernel, stride, padding, dilation):
        value, so_far, at = x[image], best[windows], index[windows]
        # "at < 0" takes the first place inside the image even where every value is the lowest there is.
        better = (value > so_far) | (value != value) | (at < 0)
        so_far[better] = value[better]
        at[better] = np.broadcast_to(places[image], at.shape)[better]
    return best, index


def max_pool_grad(g: Array, index: Array, size: Ints) -> Array:
    """Send each window's gradient to the place its maximum came from. Returns ``(N, C, *size)``."""
    n, c = g.shape[:2]
    area = math.prod(size)
    flat = (index.reshape(n * c, math.prod(index.shape[2:])) + area * np.arange(n * c)[:, None]).ravel()
    grad = new_filled(g, np.zeros, n * c * area, g.dtype)
    np.add.at(grad, flat, g.ravel())
    return grad.reshape(n, c, *size)


def _divisors(size: Ints, counts: Ints, kernel: Ints, stride: Ints, padding: Ints, include: bool,
        override: float | None) -> Any:
    """How many elements each window averages over."""
    if override is not None:
        return float(override)
    total: Any = 1.0
    for axis, (s, m, k, t, p) in enumerate(zip(size, counts, kernel, stride, padding, strict=True)):
        start = np.arange(m) * t - p
        stop = np.minimum(start + k, s + p)
        if not include:
            start, stop = np.maximum(start, 0), np.minimum(stop, s)
        total = total * (stop - start).reshape([-1 if a == axis else 1 for a in range(len(counts))])
    return total


def avg_pool(x: Array, counts: Ints, kernel: Ints, stride: Ints, padding: Ints, include: bool,
        override: float | None) -> Array:
    """The averages of ``counts`` windows; ``include``: padding counts; ``override``: what to divide by instead.

    Half precision is added up in float32; averages of whole numbers are cut to whole numbers.
    """
    size = x.shape[2:]
    total = new_filled(x, np.zeros, (*x.shape[:2], *counts), np.float32 if x.dtype.itemsize == 2 else x.dtype)
    for windows, image in _seen(size, counts, kernel, stride, padding, (1,) * len(kernel)):
        total[windows] += x[image]
    divisors = _divisors(size, counts, kernel, stride, padding, include, override)
    with np.errstate(all="ignore"):
        if total.dtype.kind in "iu":
            return np.trunc(total / divisors).astype(x.dtype)  # type: ignore[no-any-return]
        total /= divisors
    return total.astype(x.dtype, copy=False)


def avg_pool_grad(g: Array, size: Ints, kernel: Ints, stride: Ints, padding: Ints, include: bool,
        override: float | None) -> Array:
    """Each window's gradient in equal parts to what it averaged: the transpose of ``avg_pool``. Returns
    ``(N, C, *size)``.
    """
    counts = g.shape[2:]
    with np.errstate(all="ignore"):
        share = (g / _divisors(size, counts, kernel, stride, padding, include, override)).astype(g.dtype, copy=False)
    grad = new_filled(g, np.zeros, (*g.shape[:2], *size), g.dtype)
    for windows, image in _seen(size, counts, kernel, stride, padding, (1,) * len(kernel)):
        grad[image] += share[windows]
    return grad
