"""Sums of a few elements along an axis, with constant factors: what interpolation is, each way."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import kernels as K
from .operator import Array, family

operator, _ = family("functional")


class Taps:
    """Which of ``size`` elements each result adds up, how often: tables ``(terms, out)``, a place of -1 is none."""

    __slots__ = ("_back", "factors", "places", "size")

    def __init__(self, size: int, places: Any, factors: Any) -> None:
        self.size = size
        self.places = np.ascontiguousarray(places, np.int32)
        self.factors = np.ascontiguousarray(factors)
        self._back: Taps | None = None

    @classmethod
    def of(cls, size: int, out: int, into: Any, places: Any, factors: Any) -> Taps:
        """From single terms: where each is added, what is taken, and its factor."""
        keys, terms = np.unique(into * size + places, return_inverse=True)
        into, at = np.divmod(keys, size)
        rank = np.arange(len(keys)) - np.searchsorted(into, np.arange(out))[into]
        table = np.full((rank.max(initial=0) + 1, out), -1)
        table[rank, into] = at
        sums = np.zeros(table.shape)
        sums[rank, into] = np.bincount(terms.ravel(), factors, len(keys))
        return cls(size, table, sums.astype(factors.dtype))

    @property
    def back(self) -> Taps:
        """The transposed sums, without those terms that are zero."""
        if self._back is None:
            term, out = np.nonzero((self.places >= 0) & (self.factors != 0))
            self._back = Taps.of(self.places.shape[1], self.size, self.places[term, out].astype(np.int64), out,
                self.factors[term, out])
        return self._back

    def dense(self) -> Any:
        """The matrix ``(size, out)``, in float64."""
        matrix = np.zeros((self.size, self.places.shape[1]))
        term, out = np.nonzero(self.places >= 0)
        np.add.at(matrix, (self.places[term, out], out), self.factors[term, out])
        return matrix


def by_memory(x: Array, space: int) -> tuple[Array, int]:
    """``x`` with its channels last, where they lie innermost, and which axis is the first of the last ``space``."""
    first = x.ndim - space
    if first > 1 and not x.flags.c_contiguous and (moved := np.moveaxis(x, 1, -1)).flags.c_contiguous:
        return moved, first - 1
    return x, first


def as_before(y: Array, first: int, space: int) -> Array:
    """``by_memory`` undone."""
    return y if first == y.ndim - space else np.moveaxis(y, -1, 1)


@operator(grad=dict(input=lambda F, g, weights: F.interpolated(g, tuple(taps.back for taps in weights))), places=(),
    linear=True, node="UpsampleBackward0")
def interpolated(input: Array, weights):
    """Sums (``Taps``) along each of the last dimensions: those that leave fewer first, then the last first."""
    y, first = by_memory(input, len(weights))
    axes = [*range(len(weights))]
    axes.sort(key=lambda d: (weights[d].places.shape[1] > weights[d].size) * (1 + len(axes) - d))
    for d in axes:
        y = K.resample(y, first + d, weights[d].places, weights[d].factors)
    return as_before(y, first, len(weights))
