"""Distances of the rows of one matrix to those of another, by their kind, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.arrays.array_likes import new_filled

Array = np.ndarray[Any, Any]

#: The kinds: how many numbers differ, the sum of the amounts, the root of the sum of the squares, the largest amount,
#: the root of the sum of powers ``p``.
UNEQUAL, ABSOLUTE, SQUARE, LARGEST, POWER = range(5)


def _lengths(gap: Array, kind: int, p: float) -> Array:
    if kind == UNEQUAL:
        return np.count_nonzero(gap, -1).astype(gap.dtype)
    if kind == SQUARE:
        return np.sqrt(np.add.reduce(gap * gap, -1))  # type: ignore[no-any-return]
    away = np.abs(gap)
    if kind == POWER:
        return np.power(np.add.reduce(np.power(away, p), -1), 1 / p)  # type: ignore[no-any-return]
    return away.sum(-1) if kind == ABSOLUTE else away.max(-1, initial=0)  # type: ignore[no-any-return]


def _slopes(gap: Array, far: Array, kind: int, p: float) -> Array:
    """What the incoming gradient of distances ``far`` is multiplied by."""
    if kind == SQUARE:
        return gap
    sign = np.sign(gap)
    if kind == LARGEST:
        return sign * (np.abs(gap) == far[..., None])  # type: ignore[no-any-return]
    with np.errstate(all="ignore"):
        return np.where(gap == 0, 0, sign * np.power(np.abs(gap), p - 1)) if kind == POWER else sign


def distances(x: Array, y: Array, kind: int, p: float = 1.0) -> Array:
    """The distance of each row of ``x`` to each row of ``y``: ``(..., n, width), (..., m, width) -> (..., n, m)``."""
    return _lengths(x[..., :, None, :] - y[..., None, :, :], kind, p)


def distances_grad(x: Array, y: Array, g: Array, far: Array, kind: int, turned: bool, p: float = 1.0) -> Array:
    """The gradient in ``x``, where ``far`` are the distances of ``x`` to ``y`` (``turned``: of ``y`` to ``x``).

    ``g`` is their incoming gradient, for ``SQUARE`` divided by them already, for ``POWER`` by their power ``p - 1``.
    Each of the farthest has all of it.
    """
    if turned:
        g, far = g.swapaxes(-1, -2), far.swapaxes(-1, -2)
    gap = x[..., :, None, :] - y[..., None, :, :]
    return (_slopes(gap, far, kind, p) * g[..., None]).sum(-2)  # type: ignore[no-any-return]


def pair_distances(x: Array, kind: int, p: float) -> Array:
    """The distance of each row to each one after it: ``(..., n, width) -> (..., n (n - 1) / 2)``."""
    first, second = np.triu_indices(x.shape[-2], 1)
    return _lengths(x[..., first, :] - x[..., second, :], kind, p)


def pair_distances_grad(x: Array, g: Array, far: Array, kind: int, p: float) -> Array:
    """The gradient in ``x``, where ``far`` are the distances of its pairs and ``g`` is as for ``distances_grad``."""
    first, second = np.triu_indices(x.shape[-2], 1)
    share = _slopes(x[..., first, :] - x[..., second, :], far, kind, p) * g[..., None]
    out = np.zeros_like(x, order="C")
    for i in range(x.shape[-2] - 1):
        ours = share[..., first == i, :]
        out[..., i, :] += ours.sum(-2)
        out[..., i + 1 :, :] -= ours
    return out


def beside_squares(x: Array, factor: float, first: bool) -> Array:
    """Rows of ``x`` times ``factor``, then the sum of their squares and a one; or the one before (unless ``first``)."""
    out = new_filled(x, np.ones, (*x.shape[:-1], x.shape[-1] + 2), x.dtype)
    out[..., :-2] = factor * x
    out[..., -2 if first else -1] = np.add.reduce(x * x, -1)
    return out  # type: ignore[no-any-return]


def roots(x: Array) -> Array:
    """``x``, whose numbers are replaced by their roots, those below 0 by zeros."""
    return np.sqrt(np.maximum(x, 0, out=x), out=x)  # type: ignore[no-any-return]


def cross(x: Array, y: Array, axis: int) -> Array:
    """The cross products along ``axis``, which is of length 3; ``x`` and ``y`` have one shape."""
    out = np.empty_like(x, order="C")
    at: list[Any] = [(*[slice(None)] * axis, i) for i in range(3)]
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[at[i]] = x[at[j]] * y[at[k]] - x[at[k]] * y[at[j]]
    return out
