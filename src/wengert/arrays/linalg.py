"""Solves and factorisations of stacks of matrices that NumPy lacks: triangular solve, LDL, exponential.

Matrices are the last two dimensions, everything before is a batch; the loops run over columns, never over the batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import kernels as K
from .plain.lapack import size


def solve_triangular(a: Any, b: Any, upper: bool = False, unit: bool = False) -> np.ndarray:
    """``x`` with ``a @ x = b`` for triangular ``a``, of which only the triangle is read; batches broadcast.

    >>> solve_triangular(np.array([[2.0, 9.0], [1.0, 4.0]]), np.array([[2.0], [9.0]]))
    array([[1.],
           [2.]])
    """
    return K.triangular(*together(a, b), upper, unit)  # type: ignore[no-any-return]


def together(a: Any, b: Any) -> tuple[Any, Any]:
    """Two stacks of matrices, broadcast to as many of each."""
    if a.shape[:-2] != b.shape[:-2]:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return tuple(np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))  # type: ignore[return-value]
    return a, b


@np.errstate(all="ignore")
def cofactor(a: Any) -> np.ndarray:
    """``det(a) * inv(a).T``, by singular values where ``a`` is (nearly) singular: it exists there too."""
    n = a.shape[-1]
    if not a.size:
        return a.copy()
    inverse, info = K.inverse(a)
    near = info > 0
    spread = np.sqrt(np.add.reduce(np.abs(a) ** 2, (-2, -1)) * np.add.reduce(np.abs(inverse) ** 2, (-2, -1)))
    near |= ~(spread < 1e6)
    near &= np.isfinite(a).all((-2, -1))  # of others the singular values may never be found
    out = K.determinants(a)[2][..., None, None] * inverse.swapaxes(-1, -2)
    if near.any():
        u, s, vh = np.linalg.svd(a[near])
        others = np.where(np.eye(n, dtype=bool), 1, s[..., None, :]).prod(-1)
        turn = np.linalg.det(u) * np.linalg.det(vh)
        out[near] = (turn[..., None, None] * u.conj() * others[..., None, :]) @ vh.conj()
    return out.astype(a.dtype, copy=False)


# Coefficients of the Padé approximants of exp (Higham 2005, "The scaling and squaring method ... revisited"), [13/13]
# and in single precision [7/7].
_PADE = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0)
_SINGLE_PADE = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)


def matrix_exp(a: Any) -> np.ndarray:
    """``exp`` of square matrices by scaling and squaring."""
    if not a.size:
        return a.copy()
    norm = np.add.reduce(np.abs(a), -2).max(-1)
    bad = ~np.isfinite(norm)
    if bad.any():
        return np.where(bad[..., None, None], np.nan, matrix_exp(np.where(bad[..., None, None], 0, a))).astype(a.dtype)
    single = a.dtype.char in "fF"
    most = 3.925724783138660 if single else 5.371920351148152
    steps = np.maximum(np.ceil(np.log2(np.maximum(norm, 1e-30) / most)), 0).astype(np.int64)
    x = a * np.exp2(-steps.astype(norm.dtype))[..., None, None] if steps.any() else a
    one = np.eye(a.shape[-1], dtype=norm.dtype)
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    b: tuple[float, ...] = _SINGLE_PADE if single else _PADE
    if single:
        u = x @ (b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * one)
        v = b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * one
    else:
        u = x @ (x6 @ (b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * one)
        v = x6 @ (b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * one
    out = K.solve_once(v - u, v + u)[0]
    for k in range(int(steps.max())):
        out = np.where((steps > k)[..., None, None], out @ out, out) if steps.ndim else out @ out
    return out.astype(a.dtype, copy=False)


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
