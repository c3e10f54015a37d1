"""Images and volumes sampled at the places of a grid, and the gradients of that.

Modes are 0 linear, 1 nearest, 2 cubic; paddings 0 zeros, 1 border, 2 reflection: PyTorch's numbers.
"""

from __future__ import annotations

import itertools
import math
from functools import reduce
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_likes import new_filled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .widen import Array
    from .windows import Ints

LINEAR, NEAREST, CUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)


def near(t: Any, a: float) -> Any:
    """The cubic kernel of parameter ``a`` for distances up to one."""
    return ((a + 2) * t - (a + 3)) * t * t + 1


def far(t: Any, a: float) -> Any:
    """The cubic kernel for distances between one and two."""
    return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a


def weights(mode: int, t: Any) -> tuple[Any, ...]:
    """What the neighbours of a place count, which lies ``t`` after the one before it (0 if nearest); any arrays."""
    if mode == NEAREST:
        return (1 - t,)
    return (1 - t, t) if mode == LINEAR else (far(t + 1, -0.75), near(t, -0.75), near(1 - t, -0.75), far(2 - t, -0.75))


def slopes(mode: int, t: Any) -> tuple[Any, ...]:
    """The derivatives of ``weights``."""
    if mode != CUBIC:
        return (0.0,) if mode == NEAREST else (-1.0, 1.0)
    u = 1 - t
    return ((7.5 - 2.25 * (t + 1)) * (t + 1) - 6, (3.75 * t - 4.5) * t, (4.5 - 3.75 * u) * u,
        (2.25 * (u + 1) - 7.5) * (u + 1) + 6)


def _inside(p: Array, size: int, padding: int, align: bool) -> tuple[Array, Array]:
    """Positions brought into the image, and the factor of their derivatives; what is no number goes to zero."""
    sign: Any = 1.0
    if padding == REFLECTION:
        span, offset = (size - 1.0, 0.0) if align else (float(size), -0.5)
        moved = np.abs(p - offset)
        flips = np.floor(moved / span) if span else moved * 0
        odd, rest = flips % 2 != 0, moved - flips * span if span else moved * 0
        sign = np.where(odd != (p < offset), -1.0, 1.0)
        p = (np.where(odd, span - rest, rest) + offset).astype(p.dtype)
    factor = np.where((p > 0) & (p < size - 1), sign, 0.0).astype(p.dtype)
    return np.where(p > 0, np.minimum(p, np.asarray(size - 1, p.dtype)), np.zeros((), p.dtype)), factor


def position(x: Array, size: int, mode: int, padding: int, align: bool) -> tuple[Array, Array]:
    """Where coordinates between -1 and 1 lie along an axis of ``size`` pixels, and the derivative of that."""
    scale = (size - 1) / 2 if align else size / 2
    p = (x + 1) * scale if align else ((x + 1) * size - 1) * 0.5
    if mode == CUBIC or padding == ZEROS:  # the neighbours of cubic interpolation are brought inside one by one
        return p, np.full_like(p, scale)
    p, factor = _inside(p, size, padding, align)
    return p, factor * scale


def neighbours(p: Array, size: int, mode: int, padding: int, align: bool) -> list[Array]:
    """The pixels that count at positions along an axis; outside of the image they count as zeros."""
    if mode == NEAREST:
        return [np.rint(p)]
    low = np.floor(p)
    at = [low + step for step in (range(2) if mode == LINEAR else range(-1, 3))]
    return at if mode == LINEAR or padding == ZEROS else [_inside(q, size, padding, align)[0] for q in at]


def places(at: Any, space: Ints) -> tuple[Array, Array]:
    """Flat places in an image of pixels given along each axis, and which of them are in it (the others: anywhere)."""
    inside: Any = True
    total: Any = 0
    for i, size in zip(at, space, strict=True):
        inside = inside & (i >= 0) & (i < size)
        total = total * size + np.where((i >= 0) & (i < size), i, 0).astype(np.int64)
    rows = len(total), math.prod(total.shape[1:])
    return total.reshape(rows), inside.reshape(rows)


def _taps(image: Array, grid: Array, mode: int, padding: int, align: bool) -> Iterator[Any]:
    """For every combination of neighbours: flat places, those inside, and of each axis weights and slopes."""
    space, axes = image.shape[2:], []
    for a, size in enumerate(space):
        p, factor = position(grid[..., len(space) - 1 - a], size, mode, padding, align)
        t = np.zeros_like(p) if mode == NEAREST else p - np.floor(p)
        tilted = [s * factor for s in slopes(mode, t)]
        axes.append([*zip(neighbours(p, size, mode, padding, align), weights(mode, t), tilted, strict=True)])
    for each in itertools.product(*axes):
        at, weight, slope = zip(*each, strict=True)
        yield (*places(at, space), weight, slope)


def _values(flat: Array, index: Array, inside: Array) -> Array:
    rows = np.broadcast_to(index[:, None], (*flat.shape[:2], index.shape[-1]))
    return np.where(inside[:, None], np.take_along_axis(flat, rows, 2), np.zeros((), flat.dtype))


def grid_sample(image: Array, grid: Array, mode: int, padding: int, align: bool) -> Array:
    """``image`` ``(N, C, *space)`` at ``grid`` ``(N, *out, axes)``, whose last axis has coordinates, x first."""
    n, c, out = *image.shape[:2], grid.shape[1:-1]
    flat = image.reshape(n, c, math.prod(image.shape[2:]))
    total = new_filled(image, np.zeros, (n, c, math.prod(out)), image.dtype)
    for index, inside, weight, _ in _taps(image, grid, mode, padding, align):
        total = total + _values(flat, index, inside) * reduce(mul, weight).reshape(n, 1, index.shape[-1])
    return total.reshape(n, c, *out)


def grid_sample_grad(image: Array, grid: Array, mode: int, padding: int, align: bool, g: Array, of_image: bool,
        of_grid: bool) -> tuple[Array | None, Array | None]:
    """The gradients in both, or None for one that is not wanted."""
    n, c, *space = image.shape
    area, incoming = math.prod(space), g.reshape(n, c, math.prod(g.shape[2:]))
    flat, axes = image.reshape(n, c, area), len(space)
    grad = new_filled(image, np.zeros, n * c * area, image.dtype)
    grads: list[Any] = [0.0] * axes
    first = area * np.arange(n * c).reshape(n, c, 1)
    for index, inside, weight, slope in _taps(image, grid, mode, padding, align):
        if of_image:
            share = incoming * reduce(mul, weight).reshape(n, 1, index.shape[-1])
            share = np.where(inside[:, None], share, np.zeros((), g.dtype))
            np.add.at(grad, (first + index[:, None]).ravel(), share.ravel())
        if of_grid:
            sums = (incoming * _values(flat, index, inside)).sum(1).reshape(weight[0].shape)
            for a in range(axes):
                grads[a] = grads[a] + reduce(mul, (slope[a], *weight[:a], *weight[a + 1 :]), sums)
    return (grad.reshape(image.shape) if of_image else None), np.stack(grads[::-1], -1) if of_grid else None


def resample(x: Array, axis: int, places: Array, factors: Array) -> Array:
    """Sums of elements along ``axis``: ``places`` ``(terms, out)`` says which (-1: none), ``factors`` how often."""
    tail = (1,) * (x.ndim - axis - 1)
    total = new_filled(x, np.zeros, (*x.shape[:axis], places.shape[1], *x.shape[axis + 1 :]), x.dtype)
    for place, factor in zip(places, factors, strict=True):
        term = x.take(np.maximum(place, 0), axis) * factor.reshape(-1, *tail)
        total = total + np.where((place >= 0).reshape(-1, *tail), term, np.zeros((), x.dtype))
    return total
