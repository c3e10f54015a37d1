"""Pooling: the maximum or the average of each window. ``N`` images of ``C`` channels over one to three spatial axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.plain.windows import _offsets, _slices, window_counts

if TYPE_CHECKING:
    from typing import Any

    from wengert.arrays.plain.widen import Array
    from wengert.arrays.plain.windows import Ints


def max_pool(x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool = False) -> tuple[Array, Array]:
    """Return the maximum of each window and its flat place (int64) within the spatial axes. NaN counts as largest."""
    n, c, *size = x.shape
    counts = window_counts(tuple(size), kernel, stride, padding, dilation, ceil_mode)
    lowest = -np.inf if x.dtype.kind not in "iub" else np.iinfo(x.dtype).min
    # Room for the last windows of ceil_mode, which may reach beyond the right padding.
    reach = [(m - 1) * s + d * (k - 1) + 1 for m, s, d, k in zip(counts, stride, dilation, kernel, strict=True)]
    after = [max(r - s - p, p) for r, s, p in zip(reach, size, padding, strict=True)]
    edges = ((0, 0), (0, 0), *zip(padding, after, strict=True))
    values = np.pad(x, edges, constant_values=lowest)
    places = np.pad(np.arange(math.prod(size)).reshape(size), edges[2:], constant_values=-1)
    best = np.full((n, c, *counts), lowest, x.dtype)
    index = np.full((n, c, *counts), -1, np.int64)
    for offset in _offsets(kernel, dilation):
        window = _slices(offset, counts, stride)
        value, place = values[window], np.broadcast_to(places[window], best.shape)
        # "index < 0" takes the first place inside the image even where every value is the lowest there is.
        better = (value > best) | (value != value) | (index < 0)
        better &= place >= 0
        best[better] = value[better]
        index[better] = place[better]
    return best, index


def max_pool_grad(g: Array, index: Array, size: Ints) -> Array:
    """Send each window's gradient to the place its maximum came from. Returns ``(N, C, *size)``."""
    n, c = g.shape[:2]
    area = math.prod(size)
    flat = (index.reshape(n * c, math.prod(index.shape[2:])) + area * np.arange(n * c)[:, None]).ravel()
    grad = np.zeros(n * c * area, g.dtype)
    np.add.at(grad, flat, g.ravel())
    return grad.reshape(n, c, *size)


def _divisors(size: Ints, counts: Ints, kernel: Ints, stride: Ints, padding: Ints, include: bool, override: float | None) -> Any:
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


def _reach(size: Ints, counts: Ints, kernel: Ints, stride: Ints, padding: Ints) -> list[tuple[int, int]]:
    """The padding before and after each axis, as far as windows see."""
    return [(p, max((m - 1) * t + k - s - p, 0)) for s, m, k, t, p in zip(size, counts, kernel, stride, padding, strict=True)]


def avg_pool(x: Array, counts: Ints, kernel: Ints, stride: Ints, padding: Ints, include: bool, override: float | None) -> Array:
    """The averages of ``counts`` windows; ``include``: padding counts; ``override``: what to divide by instead.

    Half precision is added up in float32; averages of whole numbers are cut to whole numbers.
    """
    size = x.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), *_reach(size, counts, kernel, stride, padding)))
    total = np.zeros((*x.shape[:2], *counts), np.float32 if x.dtype.itemsize == 2 else x.dtype)
    for offset in _offsets(kernel, (1,) * len(kernel)):
        total += padded[_slices(offset, counts, stride)]
    divisors = _divisors(size, counts, kernel, stride, padding, include, override)
    with np.errstate(all="ignore"):
        if total.dtype.kind in "iu":
            return np.trunc(total / divisors).astype(x.dtype)  # type: ignore[no-any-return]
        total /= divisors
    return total.astype(x.dtype, copy=False)


def avg_pool_grad(g: Array, size: Ints, kernel: Ints, stride: Ints, padding: Ints, include: bool, override: float | None) -> Array:
    """Each window's gradient in equal parts to what it averaged: the transpose of ``avg_pool``. Returns ``(N, C, *size)``."""
    counts = g.shape[2:]
    edges = _reach(size, counts, kernel, stride, padding)
    with np.errstate(all="ignore"):
        share = (g / _divisors(size, counts, kernel, stride, padding, include, override)).astype(g.dtype, copy=False)
    padded = np.zeros((*g.shape[:2], *(s + a + b for s, (a, b) in zip(size, edges, strict=True))), g.dtype)
    for offset in _offsets(kernel, (1,) * len(kernel)):
        padded[_slices(offset, counts, stride)] += share
    inside: tuple[Any, ...] = (..., *(slice(a, a + s) for s, (a, _) in zip(size, edges, strict=True)))
    return np.ascontiguousarray(padded[inside])
