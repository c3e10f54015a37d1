"""Systems and decompositions of stacks of matrices. Natively, LAPACK does them in the numbers' own precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import kernels as K
from ..array_likes import as_array, new_filled

if TYPE_CHECKING:
    from typing import Any

    from .widen import Array


# -- triangles ---------------------------------------------------------------------------------------------------------


@np.errstate(all="ignore")
def triangular(a: Array, b: Array, upper: bool, unit: bool) -> Array:
    """``x`` with ``a @ x = b`` for triangles ``a``, of which only the triangle is read; as many as there are ``b``."""
    x = np.array(b, order="C")
    if x.size:
        if upper:  # a lower one, read backwards
            _substitute(a[..., ::-1, ::-1], x[..., ::-1, :], unit)
        else:
            _substitute(a, x, unit)
    return x


def _substitute(a: Any, x: Any, unit: bool) -> None:
    """Forward substitution in place: by halves down to what a kernel does best, so that much of the work is matrix
    products; one column is a kernel's work.
    """
    n, columns = a.shape[-1], x.shape[-1]
    native = a.dtype == x.dtype and a.dtype.char in "fd"
    most = 16
    if native:
        most = 1024 if columns == 1 and x.strides[-2] in a.strides[-2:] else 512 if columns <= 64 else 128
    if n > most:
        h = n // 2
        _substitute(a[..., :h, :h], x[..., :h, :], unit)
        x[..., h:, :] -= a[..., h:, :h] @ x[..., :h, :]
        _substitute(a[..., h:, h:], x[..., h:, :], unit)
        return
    K.substitute(a, x, unit)


def cholesky(a: Array, upper: bool) -> tuple[Array, Array]:
    """``(factor, info)``; ``info`` is the order of the first leading minor that is not positive, 0 if all are."""
    info = np.zeros(a.shape[:-2], np.int32)
    if not a.size:
        return a.copy(), info
    found = K.cholesky_lower(_turned(a) if upper else a)
    if found is not None:
        return _turned(found) if upper else found, info
    lower = np.tril(a) if not upper else np.triu(a).conj().swapaxes(-1, -2)
    flat = lower.reshape(-1, *a.shape[-2:]).copy()
    marks = info.reshape(-1)
    for i, x in enumerate(flat):
        marks[i] = _first_minor(x)
    factor = flat.reshape(a.shape)
    return (factor if not upper else factor.conj().swapaxes(-1, -2).copy()), info


def _turned(a: Any) -> Any:
    """The conjugate transpose."""
    return (a.conj() if a.dtype.kind == "c" else a).swapaxes(-1, -2)


def _first_minor(x: Any) -> int:
    """Cholesky by columns in place, up to the first pivot that is not positive."""
    n = len(x)
    for j in range(n):
        pivot = (x[j, j] - x[j, :j] @ x[j, :j].conj()).real
        if not pivot > 0:
            x[j, j] = pivot
            return j + 1
        x[j, j] = np.sqrt(pivot)
        x[j + 1 :, j] = (x[j + 1 :, j] - x[j + 1 :, :j] @ x[j, :j].conj()) / x[j, j]
    return 0


# -- LU ----------------------------------------------------------------------------------------------------------------


def lu_factor(a: Array) -> tuple[Array, Array, Array]:
    """LU with row pivoting in LAPACK's form: both factors in one array, 1-based row swaps, and ``info``.

    ``info`` is the 1-based place of the first zero pivot, 0 without one. Blocked right-looking elimination
    (Golub and Van Loan, Matrix Computations, 3.2 and 3.4).
    """
    m, n = a.shape[-2:]
    k = min(m, n)
    lu = np.array(a, order="C").reshape(-1, m, n) if a.size else np.array(a)
    batch = a.shape[:-2]
    pivots = np.empty((*batch, k), np.int32)
    info = np.zeros(batch, np.int32)
    if not a.size:
        return lu, pivots, info
    swaps = pivots.reshape(-1, k)
    each = np.arange(len(lu))
    for start in range(0, k, 32):
        end = min(start + 32, k)
        for c in range(start, end):
            p = c + np.argmax(size(lu[:, c:, c]), -1)
            swaps[:, c] = p + 1
            row = lu[each, p]
            lu[each, p] = lu[:, c]
            lu[:, c] = row
            pivot = lu[:, c, c]
            lu[:, c + 1 :, c] /= np.where(pivot == 0, 1, pivot)[:, None]
            lu[:, c + 1 :, c + 1 : end] -= lu[:, c + 1 :, c, None] * lu[:, None, c, c + 1 : end]
        if end < n:
            _substitute(lu[:, start:end, start:end], lu[:, start:end, end:], True)
            lu[:, end:, end:] -= lu[:, end:, start:end] @ lu[:, start:end, end:]
    zero = np.diagonal(lu, 0, -2, -1) == 0
    info[...] = np.where(zero.any(-1), zero.argmax(-1) + 1, 0).reshape(batch)
    return lu.reshape(a.shape), pivots, info


def size(x: Any) -> Any:
    """The magnitude by which LAPACK picks a pivot."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def permutation(pivots: Any, m: int) -> Array:
    """The row order that the swaps ``pivots`` (1-based, in sequence) bring about, ``(..., k) -> (..., m)``."""
    rows = np.broadcast_to(np.arange(m), (*pivots.shape[:-1], m)).copy()
    if not pivots.size:
        return rows
    rows = rows.reshape(-1, m)
    flat = pivots.reshape(-1, pivots.shape[-1])
    each = np.arange(len(rows))
    for c in range(pivots.shape[-1]):
        p = flat[:, c] - 1
        kept = rows[each, p]
        rows[each, p] = rows[:, c]
        rows[:, c] = kept
    return rows.reshape(*pivots.shape[:-1], m)


def lu_parts(lu: Array, pivots: Array) -> tuple[Array, Array, Array]:
    """``(P, L, U)`` with ``A = P @ L @ U``, for ``L`` of as many columns as ``U`` has rows."""
    k = min(lu.shape[-2:])
    lower = np.tril(lu[..., :k], -1)
    lower[..., np.arange(k), np.arange(k)] = 1
    return permuter(pivots, lu.shape[-2], lu.dtype), lower, np.triu(lu[..., :k, :])


def permuter(pivots: Any, m: int, d: Any) -> Array:
    """The matrix ``P`` of ``lu_parts``."""
    rows = permutation(pivots, m)
    return (rows[..., None, :] == np.arange(m)[:, None]).astype(d)


def lu_solve(lu: Array, pivots: Array, b: Array, turned: bool) -> Array:
    """``x`` with ``a @ x = b`` from the factors of ``a``, or with its transpose; as many as there are ``b``."""
    p = permuter(pivots, lu.shape[-1], lu.dtype)
    if not turned:
        return triangular(lu, triangular(lu, p.swapaxes(-1, -2) @ b, False, True), True, False)
    back = lu.swapaxes(-1, -2)
    return p @ triangular(back, triangular(back, b, False, False), True, True)


def solve_once(a: Array, b: Array) -> tuple[Array, Array, Array, Array]:
    """``(x, lu, pivots, info)`` with ``a @ x = b``; where ``a`` is singular, NaN and the 1-based place of its first
    zero pivot. The factors are empty where the solution came without them.
    """
    none, batch = (new_filled(a, np.zeros, 0, a.dtype), np.zeros(0, np.int32)), np.zeros(a.shape[:-2], np.int32)
    if not a.size or not b.size:
        return new_filled(b, np.zeros, (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]),
            b.dtype), *none, batch
    try:
        return np.linalg.solve(a, b), *none, batch
    except np.linalg.LinAlgError:
        info = _singular(a)
    bad = (info > 0)[..., None, None]
    whole = np.where(bad, np.eye(a.shape[-1], dtype=a.dtype), a)
    return np.where(bad, as_array(np.nan, b.dtype), np.linalg.solve(whole, b)), *none, info


def _singular(a: Any) -> Array:
    """Which matrices LAPACK refuses to invert, by their smallest pivot, which rounding may leave above zero."""
    info = np.zeros(a.shape[:-2], np.int32)
    marks = info.reshape(-1)
    for i, x in enumerate(a.reshape(-1, *a.shape[-2:])):
        try:
            np.linalg.inv(x)
        except np.linalg.LinAlgError:
            lu, _, first = lu_factor(x)
            marks[i] = int(first) or 1 + int(np.argmin(np.abs(np.diagonal(lu))))
    return info


def inverse(a: Array) -> tuple[Array, Array]:
    """``(inverse, info)`` as in ``solve_once``."""
    if not a.size:
        return a.copy(), np.zeros(a.shape[:-2], np.int32)
    try:
        return np.linalg.inv(a), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        found = solve_once(a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape))
        return found[0], found[3]


@np.errstate(all="ignore")
def determinants(a: Array) -> tuple[Array, Array, Array]:
    """The signs of determinants, the logarithms of their sizes (where one is NaN, the sign is 0), and themselves."""
    sign, logarithm = np.linalg.slogdet(a)
    if a.dtype.kind == "f":
        sign = np.where(np.isnan(logarithm), 0, sign).astype(a.dtype)
    return sign, logarithm, np.linalg.det(a)


# -- orthogonal factors ------------------------------------------------------------------------------------------------


def orthogonal(a: Array, mode: int) -> tuple[Array, Array]:
    """``(q, r)``, of the least size; ``mode`` 1: ``q`` is square; 2: ``r`` with the reflections below it, and their
    factors.
    """
    a = a + 0.0  # no zero is negative, for which LAPACKs take opposite signs
    if mode == 2:
        packed, tau = np.linalg.qr(a, "raw")
        return packed.swapaxes(-1, -2), tau
    q, r = np.linalg.qr(a, "complete" if mode else "reduced")
    return q, r


def singular(a: Array, job: int) -> tuple[Array, Array | None, Array | None] | None:
    """``(s, u, vh)``; ``job`` 0: without vectors, 1: as many as values, 2: square ones. None where numbers are not
    finite, on which an iteration may not end.
    """
    if not np.isfinite(a).all():
        return None
    if not job:
        return np.linalg.svd(a, compute_uv=False), None, None
    u, s, vh = np.linalg.svd(a, full_matrices=job == 2)
    return s, u, vh


def symmetric(a: Array, upper: bool, vectors: bool) -> tuple[Array, Array | None] | None:
    """Eigenvalues in ascending order, and vectors, of Hermitian matrices, of which one triangle is read; None as in
    ``singular``.
    """
    if not np.isfinite(a).all():
        return None
    part: Any = "U" if upper else "L"
    if not vectors:
        return np.linalg.eigvalsh(a, part), None
    values, found = np.linalg.eigh(a, part)
    return values, found


def eigen(a: Array, vectors: bool) -> tuple[Array, Array | None] | None:
    """Complex eigenvalues, and vectors of length one; None as in ``singular``."""
    if not np.isfinite(a).all():
        return None
    kind = np.result_type(a.dtype, np.complex64)
    if not vectors:
        return np.linalg.eigvals(a).astype(kind, copy=False), None
    values, found = np.linalg.eig(a)
    return values.astype(kind, copy=False), found.astype(kind, copy=False)


def least_squares(a: Array, b: Array, rcond: float) -> tuple[Array, Array] | None:
    """The least ``x`` that makes ``|a @ x - b|`` least, and the ranks: how many singular values exceed ``rcond`` times
    the largest. None as in ``singular``.
    """
    found = singular(a, 1)
    if found is None:
        return None
    s, u, vh = found
    keep = s > rcond * s.max(-1, keepdims=True)
    scale = np.where(keep, 1 / np.where(keep, s, 1), 0).astype(s.dtype)
    return _turned(vh) @ (scale[..., None] * (_turned(u) @ b)), keep.sum(-1)
