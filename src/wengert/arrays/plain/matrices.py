"""Steps of linear algebra on stacks of small matrices, and the product of a sparse matrix with a dense one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..array_likes import new_filled

if TYPE_CHECKING:
    from .widen import Array


def substitute(a: Array, x: Array, unit: bool) -> None:
    """``x = a^-1 x`` in place for lower triangles ``a``, row by row. ``unit``: their diagonals count as ones."""
    for i in range(a.shape[-1]):
        if i:
            x[..., i, :] -= (a[..., i : i + 1, :i] @ x[..., :i, :])[..., 0, :]
        if not unit:
            x[..., i, :] /= a[..., i, i, None]


def cholesky_lower(a: Array) -> Array | None:
    """The factors ``L`` of ``L @ L.mH``, from the lower triangles; None where one is not positive definite."""
    try:
        factor = np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return None
    return None if np.isnan(factor.diagonal(0, -2, -1)).any() else factor  # some BLAS go on with NaN


def sparse_product(values: Array, dense: Array, rows: Array, columns: Array, n: int) -> Array:
    """The matrix of ``n`` rows with ``values`` at ``(rows, columns)``, added up, times ``dense``."""
    order = rows.argsort(kind="stable")
    sorted_rows = rows[order]
    out = new_filled(dense, np.zeros, (n, dense.shape[1]), np.result_type(values, dense))
    if len(order):
        starts = np.flatnonzero(np.concatenate([[True], sorted_rows[1:] != sorted_rows[:-1]]))
        terms = values[order, None] * dense[columns[order]]
        out[sorted_rows[starts]] = np.add.reduceat(terms, starts, axis=0, dtype=terms.dtype)
    return out


def brain_product(a: Array, b: Array, bias: Array | None = None) -> Array:
    """The product of matrices of bfloat16 (or stacks) and a bias, summed up in float32 and rounded once."""
    single = np.dtype(np.float32)
    total = np.matmul(a.astype(single), b.astype(single))
    return (total if bias is None else total + bias.astype(single)).astype(a.dtype)
