"""``A = L @ D @ L.T`` for symmetric or Hermitian matrices that need not be definite, in LAPACK's packed form.

Bunch and Kaufman's partial pivoting (1977, "Some stable methods for calculating inertia ..."), by columns from the
lower triangle: ``D`` has blocks of 1 and 2. A positive pivot is a 1-based row swap, two equal negative ones mark a
block of 2 whose second row was swapped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .linalg import size

_ALPHA = (1 + 17**0.5) / 8


def factor(a: Any, hermitian: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``(LD, pivots, info)`` for a stack of matrices."""
    out = np.tril(a)
    pivots, info = np.zeros(a.shape[:-1], np.int32), np.zeros(a.shape[:-2], np.int32)
    if a.size:
        flat, rows, marks = out.reshape(-1, *a.shape[-2:]), pivots.reshape(-1, a.shape[-1]), info.reshape(-1)
        for i in range(len(flat)):
            marks[i] = _factor(flat[i], rows[i], hermitian and a.dtype.kind == "c")
    return out, pivots, info


def _factor(a: Any, pivots: Any, hermitian: bool) -> int:
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
        elif top < _ALPHA * most:
            row = max(size(a[r, k:r]).max(initial=0), size(a[r + 1 :, r]).max(initial=0))
            if top >= _ALPHA * most * (most / row):
                pass
            elif size(a[r, r].real if hermitian else a[r, r]) >= _ALPHA * row:
                p = r
            else:
                p, step = r, 2
        q = k + step - 1
        if p != q:
            _swap(a, k, q, p, turn)
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


def _swap(a: Any, k: int, q: int, p: int, turn: Any) -> None:
    """Exchange rows and columns ``q < p`` of the trailing matrix, of which the lower triangle is kept."""
    below = a[p + 1 :, q].copy()
    a[p + 1 :, q], a[p + 1 :, p] = a[p + 1 :, p], below
    between = a[q + 1 : p, q].copy()
    a[q + 1 : p, q], a[p, q + 1 : p] = turn(a[p, q + 1 : p]), turn(between)
    a[p, q] = turn(a[p, q])
    a[q, q], a[p, p] = a[p, p], a[q, q].copy()


def solve(ld: Any, pivots: Any, b: Any, hermitian: bool) -> np.ndarray:
    """``x`` with ``a @ x = b`` from the packed factors."""
    batch = np.broadcast_shapes(ld.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])), dtype=np.result_type(ld, b))
    if x.size:
        n = ld.shape[-1]
        lds = np.broadcast_to(ld, (*batch, n, n)).reshape(-1, n, n)
        rows = np.broadcast_to(pivots, (*batch, n)).reshape(-1, n)
        for i, y in enumerate(x.reshape(-1, *b.shape[-2:])):
            _solve(lds[i], rows[i], y, hermitian and ld.dtype.kind == "c")
    return x


def _solve(ld: Any, pivots: Any, x: Any, hermitian: bool) -> None:
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
