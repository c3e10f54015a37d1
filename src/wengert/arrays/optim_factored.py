"""Optimizer updates on raw arrays that are not elementwise: Adafactor, Muon, and updates of a few rows (sparse).

Like :mod:`wengert.arrays.optim_kernels` these write parameters and state in place and only read gradients, but take
one parameter at a time.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .array_likes import in_rows
from .sparse import add_rows, rows_at

if TYPE_CHECKING:
    from collections.abc import Sequence


def _put_back(target: np.ndarray, wide: np.ndarray) -> None:
    """Round ``wide``, a copy of ``target`` that was updated, into it."""
    if wide is not target:
        target[...] = wide


def _wide(a: np.ndarray) -> np.ndarray:
    """``a`` itself in float64 and float32, a float32 copy of halves."""
    return a if a.dtype.char in "fd" else a.astype(np.float32)


def _norm(a: np.ndarray) -> Any:
    flat = a.reshape(-1)
    return np.sqrt(np.dot(flat, flat))


@np.errstate(all="ignore")
def adafactor_update(param: np.ndarray, grad: np.ndarray, row_var: np.ndarray | None, col_var: np.ndarray | None,
        variance: np.ndarray | None, *, step: float, lr: float, beta2_decay: float, eps1: float, eps2: float, d: float,
        weight_decay: float = 0.0, maximize: bool = False) -> None:
    """Adafactor (Shazeer and Stern 2018): second moments as row and column means; ``variance`` for vectors.

    ``row_var`` has the shape of ``grad`` with last size 1, ``col_var`` with last but one size 1; ``step`` is from 1 on.
    """
    if param.ndim == 0 and variance is not None:  # views: NumPy gives numbers, not arrays, for 0-d arithmetic
        param, grad, variance = param.reshape(1), grad.reshape(1), variance.reshape(1)
    p, g = _wide(param), _wide(grad)
    if maximize:
        g = -g
    fresh = step**beta2_decay  # weight of the new squares
    rate = max(eps2, float(_norm(p)) / math.sqrt(p.size)) * min(lr, 1 / math.sqrt(step))
    square = g * g
    if variance is not None:
        wide = _wide(variance)
        wide += p.dtype.type(fresh) * (square - wide)
        _put_back(variance, wide)
        update = np.maximum(wide, p.dtype.type(eps1 * eps1), out=square)
    else:
        assert row_var is not None and col_var is not None
        rows, cols = _wide(row_var), _wide(col_var)
        for mean, axis, store in ((rows, -1, row_var), (cols, -2, col_var)):
            mean += p.dtype.type(fresh) * (square.mean(axis, keepdims=True) - mean)
            _put_back(store, mean)
        update = np.multiply(rows, cols, out=square)
        update /= np.maximum(rows.mean(-2, keepdims=True), p.dtype.type(eps1))
        np.maximum(update, p.dtype.type(eps1 * eps1), out=update)
    np.sqrt(update, out=update)
    np.divide(g, update, out=update)
    clip = max(1.0, float(_norm(update)) / (math.sqrt(update.size) * d))
    if weight_decay != 0:
        p *= p.dtype.type(1 - lr * weight_decay)
    update *= p.dtype.type(-rate / clip)
    p += update
    _put_back(param, p)


def round_to_bfloat16(a: np.ndarray) -> np.ndarray:
    """Round contiguous float32 in place to the nearest bfloat16, ties to even.

    >>> round_to_bfloat16(np.array([1.01, 3.0], np.float32))
    array([1.0078125, 3.       ], dtype=float32)
    """
    bits = a.view(np.uint32)
    odd = bits >> 16
    odd &= 1
    odd += 0x7FFF
    bits += odd
    bits &= 0xFFFF0000
    return a


@np.errstate(all="ignore")
def orthogonalize(matrix: np.ndarray, coefficients: Sequence[float], steps: int, eps: float) -> np.ndarray:
    """Nearly orthogonal float32 factor of ``matrix`` by a quintic Newton-Schulz iteration in bfloat16 precision.

    The singular values end up in about 0.5 to 1.5 (Jordan et al. 2024, "Muon").
    """
    a, b, c = (np.float32(x) for x in coefficients)
    x = round_to_bfloat16(matrix.astype(np.float32, order="C"))
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = in_rows(x.T)
    norm = round_to_bfloat16(np.array(max(_norm(x), eps), np.float32).reshape(1))
    x = round_to_bfloat16(x / norm)
    for _ in range(steps):
        gram = round_to_bfloat16(x @ x.T)
        poly = round_to_bfloat16(b * gram + c * (gram @ gram))
        x = round_to_bfloat16(a * x + poly @ x)
    return x.T if tall else x


@np.errstate(all="ignore")
def muon_update(param: np.ndarray, grad: np.ndarray, momentum_buffer: np.ndarray, *, lr: float, rate: float,
        weight_decay: float, momentum: float, nesterov: bool, ns_coefficients: Sequence[float], ns_steps: int,
        eps: float) -> None:
    """Muon (Jordan et al. 2024): momentum, made orthogonal, applied with the shape-adjusted ``rate``."""
    kind, g, buffer = _wide(param).dtype.type, _wide(grad), _wide(momentum_buffer)
    buffer += kind(1 - momentum) * (g - buffer)
    _put_back(momentum_buffer, buffer)
    direction = g + kind(momentum) * (buffer - g) if nesterov else buffer
    update = orthogonalize(direction, ns_coefficients, ns_steps, eps)
    p = _wide(param)
    p *= kind(1 - lr * weight_decay)
    p -= kind(rate) * update.astype(p.dtype, copy=False)
    _put_back(param, p)


@np.errstate(all="ignore")
def sgd_rows_update(param: np.ndarray, at: tuple[np.ndarray, ...], values: np.ndarray, *, lr: float) -> None:
    """``param[at] -= lr * values``; the places in ``at`` are distinct."""
    add_rows(param, at, -(param.dtype.type(lr) * values))


@np.errstate(all="ignore")
def adagrad_rows_update(param: np.ndarray, at: tuple[np.ndarray, ...], values: np.ndarray, total: np.ndarray, *,
        step: float, lr: float, lr_decay: float, eps: float) -> None:
    """Adagrad on the distinct places ``at`` of a parameter and its sums of squares."""
    kind = param.dtype.type
    more = values * values
    sums = rows_at(total, at) + more
    add_rows(total, at, more)
    add_rows(param, at, -kind(lr / (1 + (step - 1) * lr_decay)) * (values / (np.sqrt(sums) + kind(eps))))


@np.errstate(all="ignore")
def sparse_adam_update(param: np.ndarray, at: tuple[np.ndarray, ...], values: np.ndarray, exp_avg: np.ndarray,
        exp_avg_sq: np.ndarray, *, step: float, lr: float, beta1: float, beta2: float, eps: float) -> None:
    """Adam on the distinct places ``at`` of a parameter and its moments; the others stay as they were."""
    kind = param.dtype.type
    mean, square = rows_at(exp_avg, at), rows_at(exp_avg_sq, at)
    more, longer = kind(1 - beta1) * (values - mean), kind(1 - beta2) * (values * values - square)
    add_rows(exp_avg, at, more)
    add_rows(exp_avg_sq, at, longer)
    size = lr * math.sqrt(1 - beta2**step) / (1 - beta1**step)
    add_rows(param, at, -kind(size) * ((mean + more) / (np.sqrt(square + longer) + kind(eps))))
