"""Reductions in PyTorch's precision, products, dropout's product, choices and cross entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.array_likes import as_array, new_filled
from wengert.arrays.plain.widen import wide

if TYPE_CHECKING:
    from typing import Any

    from wengert.arrays.plain.widen import Array

    Axes = int | tuple[int, ...] | None

LARGEST, LEAST = range(2)  # the kinds of ``fold_rows``
_INTEGERS = {2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}


def _total(x: Array) -> type[np.generic]:
    """Sum in double precision: along any axis but the last one NumPy adds up one by one."""
    return np.complex128 if x.dtype.kind == "c" else np.float64


def sum(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    """Sum over the axes; integers and booleans give int64, the rest is added up in double precision."""
    if x.dtype.kind in "biu":
        return as_array(x.sum(axis=axis, keepdims=keepdims, dtype=np.int64))
    return as_array(x.sum(axis=axis, keepdims=keepdims, dtype=_total(x))).astype(x.dtype, copy=False)


def sum_of_numbers(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    """The sum over the axes of what is not NaN."""
    return sum(np.where(x == x, x, x.dtype.type(0)), axis, keepdims)


def mean(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    """Mean of floating-point or complex numbers over the axes; NaN where there are none."""
    with np.errstate(all="ignore"):
        total = as_array(x.sum(axis=axis, keepdims=keepdims, dtype=_total(x)))
        count = x.size // total.size if total.size else 1
        return as_array(total / total.dtype.type(count)).astype(x.dtype, copy=False)


def norm(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    """The root of the sum of squares over the axes, in double precision, of float32 or float64."""
    gone = {d % x.ndim for d in (range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis)}
    axes = list(range(x.ndim))
    with np.errstate(all="ignore"):
        squares = np.einsum(x, axes, x, axes, [d for d in axes if d not in gone], dtype=np.float64)
        found = as_array(np.sqrt(squares)).astype(x.dtype, copy=False)
    return found.reshape([1 if d in gone else n for d, n in enumerate(x.shape)]) if keepdims else found


def product(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    """The product over the axes of float32 or float64."""
    with np.errstate(all="ignore"):
        return as_array(x.prod(axis=axis, keepdims=keepdims))


def fold_rows(x: Array, rows: int, kind: int) -> Array:
    """One number for each of ``rows`` equal parts of a contiguous array: the largest or the least, NaN before all."""
    return (np.maximum if kind == LARGEST else np.minimum).reduce(x.reshape(rows, -1), 1)  # type: ignore[no-any-return]


def square_sum(arrays: list[Array]) -> float:
    """The sum of the squares of all elements of arrays of floating-point numbers, in double precision."""
    total = 0.0
    for x in arrays:
        flat = x.ravel().astype(np.float64, copy=False)
        total += float(flat.dot(flat))
    return total


def masked_scale(x: Array, mask: Array, scale: float) -> Array:
    """``x * mask * scale`` for a mask of truth values that broadcasts to ``x``."""
    kept = np.multiply(x, mask)
    return kept if scale == 1.0 else kept * x.dtype.type(scale)


def stacked(a: Array, b: Array) -> Array:
    """``a @ b`` of stacks of matrices."""
    return np.matmul(a, b)  # type: ignore[no-any-return]


def dot(a: Array, b: Array) -> Array:
    """The product of two matrices."""
    return np.dot(a, b)  # type: ignore[no-any-return]


def has_nan(x: Array) -> bool:
    """Whether some element is NaN."""
    kind = x.dtype.kind
    if kind != "f" and kind != "c":
        return kind == "V" and bool(np.isnan(x.astype("f4")).any())
    flat = x.reshape(-1)
    squares = flat.dot(flat)  # NaN only if an element is (or, for complex numbers, infinite)
    return bool(squares != squares) and bool(np.isnan(x).any())


def within(x: Array, low: int, high: int) -> bool:
    """Whether all elements are in ``[low, high]``, where NaN is not."""
    return not x.size or bool(low <= x.min() and x.max() <= high)


def where(condition: Array, x: Any, y: Any) -> Array:
    """``np.where`` of a bool array and arrays (or numbers) of one type.

    NumPy's loop branches on every element, which costs some 4 ns each where the condition is unpredictable. Large
    arrays are chosen from bit by bit, ``((x ^ y) & mask) ^ y``, at the speed of memory.

    >>> import numpy as np
    >>> where(np.array([True, False]), np.array([1.0, 2.0]), 0)
    array([1., 0.])
    """
    if condition.size < 2048:
        return np.where(condition, x, y)
    d = (x if type(x) is np.ndarray else y).dtype if type(x) is np.ndarray or type(y) is np.ndarray else None
    if d is None or d.itemsize not in _INTEGERS or any(type(v) is np.ndarray and v.dtype is not d for v in (x, y)):
        return np.where(condition, x, y)
    bits: Any = _INTEGERS[d.itemsize]
    mask = condition.view(np.int8).astype(bits)
    np.negative(mask, out=mask)  # True becomes all ones
    if type(y) is int and y == 0:
        return _apply(np.bitwise_and, mask, x.view(bits)).view(d)
    a, b = (as_array(v).astype(d, copy=False).view(bits) for v in (x, y))
    chosen = _apply(np.bitwise_and, mask, a ^ b)
    return _apply(np.bitwise_xor, chosen, b).view(d)


def _apply(ufunc: Any, a: Array, b: Array) -> Array:
    """``ufunc(a, b)``, in the memory of ``a`` where the result fits there."""
    return ufunc(  # type: ignore[no-any-return]
        a, b, out=a if np.broadcast(a, b).shape == a.shape else None)


def kept_classes(target: Array, ignored: int) -> tuple[Array, int]:
    """A copy of int64 ``target`` with -1 for what is ``ignored``, and how many are not; -1 if others are negative.

    >>> import numpy as np
    >>> kept_classes(np.array([3, -100, 0]), -100)
    (array([ 3, -1,  0]), 2)
    """
    kept = target != ignored
    return np.where(kept, target, -1), -1 if (target[kept] < 0).any() else int(np.count_nonzero(kept))


def class_losses(x: Array, target: Array) -> Array:
    """``-x[r, target[r]]`` of each row ``r`` of ``(rows, classes)``; ``IndexError`` for a target that is no class."""
    wrong = (target < 0) | (target >= x.shape[1])
    if wrong.any():
        raise IndexError(f"Target {target[wrong][0]} is out of bounds.")
    return -np.take_along_axis(x, target[:, None], axis=1)[:, 0]  # type: ignore[no-any-return]


def cross_entropy(x: Array, target: Array) -> tuple[Array, Array]:
    """Negative log-likelihood of ``target`` under softmax, for each row.

    ``x`` is ``(rows, classes)``, ``target`` int64 ``(rows,)``, negative where a row does not count (its loss is 0).
    Returns the losses and the log-sum-exp of each row, which the gradient needs; ``IndexError`` for a target out of
    bounds.
    """
    if (target >= x.shape[1]).any():
        raise IndexError(f"Target {target[target >= x.shape[1]][0]} is out of bounds.")
    z = wide(x)
    with np.errstate(all="ignore"):
        top = z.max(axis=1, keepdims=True) if z.size else new_filled(z, np.zeros, (len(z), 1), z.dtype)
        total = np.log(np.exp(z - top).sum(axis=1)) + top[:, 0]
        picked = np.take_along_axis(z, np.maximum(target, 0)[:, None], axis=1)[:, 0]
        loss = np.where(target < 0, z.dtype.type(0), total - picked)
    return loss.astype(x.dtype, copy=False), total.astype(x.dtype, copy=False)


def cross_entropy_grad(g: Array, x: Array, target: Array, lse: Array) -> Array:
    """``g * (softmax(x) - onehot(target))`` for each row.

    Rows of negative ``target`` do not count: zero, or NaN where a row is not finite.
    """
    if (target >= x.shape[1]).any():
        raise IndexError(f"Target {target[target >= x.shape[1]][0]} is out of bounds.")
    with np.errstate(all="ignore"):
        grad = np.exp(wide(x) - wide(lse)[:, None])
        grad *= wide(g)[:, None]
        grad[g == 0] = 0
        grad[target < 0] = (lse - lse)[target < 0, None]
    rows = np.flatnonzero(target >= 0)
    grad[rows, target[rows]] -= wide(g)[rows]
    return grad.astype(x.dtype, copy=False)
