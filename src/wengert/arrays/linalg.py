"""Factorisations and solves on stacks of matrices that NumPy lacks: triangular solve, LU, LDL, exponential.

Matrices are the last two dimensions, everything before is a batch; the loops run over columns, never over the batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import kernels as K
from .array_likes import as_array, new_filled


@np.errstate(all="ignore")
def solve_triangular(a: Any, b: Any, upper: bool = False, unit: bool = False) -> np.ndarray:
    """``x`` with ``a @ x = b`` for triangular ``a``, of which only the triangle is read; batches broadcast.

    >>> solve_triangular(np.array([[2.0, 9.0], [1.0, 4.0]]), np.array([[2.0], [9.0]]))
    array([[1.],
           [2.]])
    """
    batch = b.shape[:-2]
    if a.shape[:-2] != batch:
        batch = np.broadcast_shapes(a.shape[:-2], batch)
        b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
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


def lu_factor(a: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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


def permutation(pivots: Any, m: int) -> np.ndarray:
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


def cholesky(a: Any, upper: bool = False) -> tuple[np.ndarray, np.ndarray]:
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


def solve(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """``(x, info)`` with ``a @ x = b``; where ``a`` is singular, NaN and the 1-based place of its first zero pivot."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if not a.size or not b.size:
        return new_filled(b, np.zeros, (*batch, *b.shape[-2:]), b.dtype), np.zeros(a.shape[:-2], np.int32)
    try:
        return np.linalg.solve(a, b), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        info = _singular(a)
    bad = (info > 0)[..., None, None]
    whole = np.where(bad, np.eye(a.shape[-1], dtype=a.dtype), a)
    return np.where(bad, as_array(np.nan, b.dtype), np.linalg.solve(whole, b)), info


def _singular(a: Any) -> np.ndarray:
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


def inv(a: Any) -> tuple[np.ndarray, np.ndarray]:
    """``(inverse, info)`` as in ``solve``."""
    if not a.size:
        return a.copy(), np.zeros(a.shape[:-2], np.int32)
    try:
        return np.linalg.inv(a), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        return solve(a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape))


@np.errstate(all="ignore")
def cofactor(a: Any) -> np.ndarray:
    """``det(a) * inv(a).T``, by singular values where ``a`` is (nearly) singular: it exists there too."""
    n = a.shape[-1]
    if not a.size:
        return a.copy()
    inverse, info = inv(a)
    near = info > 0
    spread = np.sqrt(np.add.reduce(np.abs(a) ** 2, (-2, -1)) * np.add.reduce(np.abs(inverse) ** 2, (-2, -1)))
    near |= ~(spread < 1e6)
    near &= np.isfinite(a).all((-2, -1))  # of others the singular values may never be found
    out = np.linalg.det(a)[..., None, None] * inverse.swapaxes(-1, -2)
    if near.any():
        u, s, vh = np.linalg.svd(a[near])
        others = np.where(np.eye(n, dtype=bool), 1, s[..., None, :]).prod(-1)
        turn = np.linalg.det(u) * np.linalg.det(vh)
        out[near] = (turn[..., None, None] * u.conj() * others[..., None, :]) @ vh.conj()
    return out.astype(a.dtype, copy=False)


# Coefficients of the [13/13] Padé approximant of exp (Higham 2005, "The scaling and squaring method ... revisited").
_PADE = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0)


def matrix_exp(a: Any) -> np.ndarray:
    """``exp`` of square matrices by scaling and squaring."""
    if not a.size:
        return a.copy()
    wide = a.astype(np.result_type(a.dtype, np.float64))
    norm = np.add.reduce(np.abs(wide), -2).max(-1)
    bad = ~np.isfinite(norm)
    if bad.any():
        return np.where(bad[..., None, None], np.nan, matrix_exp(np.where(bad[..., None, None], 0, a))).astype(a.dtype)
    steps = np.maximum(np.ceil(np.log2(np.maximum(norm, 1e-300) / 5.371920351148152)), 0).astype(np.int64)
    x = wide / np.exp2(steps)[..., None, None]
    one = np.eye(a.shape[-1])
    b = _PADE
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    u = x @ (x6 @ (b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * one)
    v = x6 @ (b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * one
    out = np.linalg.solve(v - u, v + u)
    for k in range(int(steps.max())):
        out = np.where((steps > k)[..., None, None], out @ out, out)
    return out.astype(a.dtype)


# -- LDL: Bunch and Kaufman's partial pivoting (1977, "Some stable methods for calculating inertia ...") ---------------
#
# ``A = L @ D @ L.T`` for symmetric or Hermitian matrices, by columns from the lower triangle, in LAPACK's packed form:
# ``D`` has blocks of 1 and 2. A positive pivot is a 1-based row swap, two equal negative ones mark a block of 2 whose
# second row was swapped.

_PIVOTING = (1 + 17**0.5) / 8


def ldl_factor(a: Any, hermitian: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``(LD, pivots, info)`` for a stack of matrices."""
    out = np.tril(a)
    pivots, info = np.zeros(a.shape[:-1], np.int32), np.zeros(a.shape[:-2], np.int32)
    if a.size:
        flat, rows, marks = out.reshape(-1, *a.shape[-2:]), pivots.reshape(-1, a.shape[-1]), info.reshape(-1)
        for i in range(len(flat)):
            marks[i] = _ldl_factor(flat[i], rows[i], hermitian and a.dtype.kind == "c")
    return out, pivots, info


def _ldl_factor(a: Any, pivots: Any, hermitian: bool) -> int:
    n, k, info = len(a), 0, 0
    turn = np.conj if hermitian else np.asarray
    while k < n:
        step, p = 1, k
        top = size(a[k, k].real if hermitian else a[k, k])
        below = size(a[k + 1 :, k])
        r = k + 1 + int(below.argmax()) if len(below) else k
        most = below.max() if len(below) else 0.0
        if max(top, most) == 0:
            info = info or k + 1
        elif top < _PIVOTING * most:
            row = max(size(a[r, k:r]).max(initial=0), size(a[r + 1 :, r]).max(initial=0))
            if top >= _PIVOTING * most * (most / row):
                pass
            elif size(a[r, r].real if hermitian else a[r, r]) >= _PIVOTING * row:
                p = r
            else:
                p, step = r, 2
        q = k + step - 1
        if p != q:
            _swap_symmetric(a, k, q, p, turn)
            if step == 2:
                a[[k + 1, p], k] = a[[p, k + 1], k]
        if max(top, most) != 0:
            block = a[k : k + step, k : k + step].copy()
            if step == 2:
                block[0, 1] = turn(block[1, 0])
            left = a[k + step :, k : k + step].copy()
            if len(left):
                solved = np.linalg.solve(block.T, left.T).T
                a[k + step :, k + step :] -= np.tril(solved @ turn(left).T)
                a[k + step :, k : k + step] = solved
        pivots[k : k + step] = p + 1 if step == 1 else -(p + 1)
        k += step
    return info


def _swap_symmetric(a: Any, k: int, q: int, p: int, turn: Any) -> None:
    """Exchange rows and columns ``q < p`` of the trailing matrix, of which the lower triangle is kept."""
    below = a[p + 1 :, q].copy()
    a[p + 1 :, q], a[p + 1 :, p] = a[p + 1 :, p], below
    between = a[q + 1 : p, q].copy()
    a[q + 1 : p, q], a[p, q + 1 : p] = turn(a[p, q + 1 : p]), turn(between)
    a[p, q] = turn(a[p, q])
    a[q, q], a[p, p] = a[p, p], a[q, q].copy()


def ldl_solve(ld: Any, pivots: Any, b: Any, hermitian: bool) -> np.ndarray:
    """``x`` with ``a @ x = b`` from the packed factors."""
    batch = np.broadcast_shapes(ld.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])), dtype=np.result_type(ld, b))
    if x.size:
        n = ld.shape[-1]
        lds = np.broadcast_to(ld, (*batch, n, n)).reshape(-1, n, n)
        rows = np.broadcast_to(pivots, (*batch, n)).reshape(-1, n)
        for i, y in enumerate(x.reshape(-1, *b.shape[-2:])):
            _ldl_solve(lds[i], rows[i], y, hermitian and ld.dtype.kind == "c")
    return x


def _ldl_solve(ld: Any, pivots: Any, x: Any, hermitian: bool) -> None:
    n, k = len(ld), 0
    turn = np.conj if hermitian else np.asarray
    blocks = []
    while k < n:
        step = 1 if pivots[k] > 0 else 2
        q, p = k + step - 1, abs(int(pivots[k])) - 1
        x[[q, p]] = x[[p, q]]
        x[k + step :] -= ld[k + step :, k : k + step] @ x[k : k + step]
        block = ld[k : k + step, k : k + step].copy()
        if step == 2:
            block[0, 1] = turn(block[1, 0])
        x[k : k + step] = np.linalg.solve(block, x[k : k + step])
        blocks.append((k, step, q, p))
        k += step
    for k, step, q, p in reversed(blocks):
        x[k : k + step] -= turn(ld[k + step :, k : k + step]).T @ x[k + step :]
        x[[q, p]] = x[[p, q]]
