"""Rows brought down to one number each; dropout's product; random truth values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from wengert.arrays.plain.widen import Array

PRODUCT, SQUARES, LARGEST, LEAST = range(4)


def fold_rows(x: Array, rows: int, kind: int) -> Array:
    """One number for each of ``rows`` equal parts of a contiguous array.

    ``PRODUCT`` and ``SQUARES`` (their sum) come in double precision, ``LARGEST`` and ``LEAST`` (NaN before all) in the
    type of ``x``.
    """
    parts = x.reshape(rows, -1)
    if kind == SQUARES:
        return np.einsum("ij,ij->i", parts, parts, dtype=np.float64)
    if kind == PRODUCT:
        return np.multiply.reduce(parts, 1, np.float64)  # type: ignore[no-any-return]
    return (np.maximum if kind == LARGEST else np.minimum).reduce(parts, 1)  # type: ignore[no-any-return]


def masked_scale(x: Array, mask: Array, scale: float) -> Array:
    """``x * mask * scale`` for a mask of truth values that broadcasts to ``x``."""
    kept = np.multiply(x, mask)
    return kept if scale == 1.0 else kept * x.dtype.type(scale)


def fill_below(bits: Any, out: Array, bound: int) -> Array:
    """Fill with whether each of the next numbers of 53 bits (two words, as for float64) is below ``bound``."""
    from wengert.arrays.plain.draws import fill_uniform

    return np.less(fill_uniform(bits, np.empty(out.size, np.int64)), bound, out=out.reshape(-1)).reshape(out.shape)
