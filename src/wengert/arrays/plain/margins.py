"""Margin losses of classes: of each row, between the classes that it lists and all that it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.arrays.array_likes import counted

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]


def listed(labels: Array, classes: int, near: Array) -> tuple[Array, Array, Array]:
    """Of rows of class numbers, which end at the first negative one: the numbers, with zeros behind that; where
    each is, as ones in ``(rows, labels, classes)``; and where margins count: from a listed class to one that is not.

    ``near``: an array of the kind that the masks are used with.
    """
    valid = np.logical_and.accumulate(labels >= 0, 1)
    safe = np.where(valid, labels, 0)
    places = (safe[:, :, None] == counted(near, classes)) & valid[:, :, None]
    return safe, places, valid[:, :, None] & ~places.any(1)[:, None, :]


def _gaps(x: Array, labels: Array, margin: float) -> tuple[Array, Array, Array]:
    safe, places, counts = listed(labels, x.shape[1], x)
    gap = x.dtype.type(margin) - np.take_along_axis(x, safe, 1)[:, :, None] + x[:, None, :]
    return np.where(counts & (gap > 0), gap, x.dtype.type(0)), safe, places


def margins(x: Array, labels: Array, p: int, margin: float, weight: Array | None) -> Array:
    """The sum of ``max(0, margin - x[label] + x[class]) ** p``, weighted by label, over the number of classes."""
    gap, safe, _ = _gaps(x, labels, margin)
    gap = gap if p == 1 else gap * gap
    if weight is not None:
        gap = gap * weight[safe][:, :, None]
    return gap.sum((1, 2)) / x.dtype.type(x.shape[1])  # type: ignore[no-any-return]


def margins_grad(g: Array, x: Array, labels: Array, p: int, margin: float, weight: Array | None) -> Array:
    """The gradient of ``margins`` in ``x``, where ``g`` is that of each row."""
    gap, safe, places = _gaps(x, labels, margin)
    slope = (gap > 0).astype(x.dtype) if p == 1 else gap * x.dtype.type(2)
    if weight is not None:
        slope = slope * weight[safe][:, :, None]
    slope = slope * (g / x.dtype.type(x.shape[1])).reshape(-1, 1, 1)
    own = np.where(places, slope.sum(2)[:, :, None], x.dtype.type(0)).sum(1)
    return slope.sum(1) - own  # type: ignore[no-any-return]
