"""Reductions in PyTorch's precision, products, dropout's product, choices and cross entropy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.array_likes import as_array
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


def fold_rows(x: Array, rows: int, kind: int, inner: int) -> Array:
    """``inner`` numbers for each of ``rows`` equal parts of a contiguous array, which are rows of so many: the largest
    or the least of each column, NaN before all.
    """
    ufunc = np.maximum if kind == LARGEST else np.minimum
    return ufunc.reduce(x.reshape(rows, -1, inner), 1).reshape(-1)  # type: ignore[no-any-return]


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


def class_losses(x: Array, target: Array, weight: Array | None, ignored: int, reduction: str, softmax: bool,
        ) -> tuple[Array, Array | None, Array, Array, Array]:
    """Weighted negative log-likelihood of int64 ``target`` ``(rows, ...)`` under ``x`` ``(rows, classes, ...)``.

    With ``softmax`` ``x`` are scores, otherwise log-probabilities. Returns the loss (``reduction``: none, sum or mean);
    the log-sum-exps over the classes and what rounding took from each (two rows), or None; ``target`` with an axis of
    classes, and -1 (without ``softmax`` 0) for what is ``ignored``; the derivative of each summand of the loss; and the
    sum of the weights that count.
    ``IndexError`` for another target that is no class.
    """
    kept = target != ignored
    safe = np.where(kept, target, 0)
    wrong = (safe < 0) | (safe >= x.shape[1])
    if wrong.any():
        raise IndexError(f"Target {safe[wrong][0]} is out of bounds.")
    z, lse = wide(x), None
    index = np.expand_dims(safe, 1)
    picked = np.take_along_axis(z, index, axis=1).squeeze(1)
    w = np.where(kept, z.dtype.type(1) if weight is None else wide(weight)[safe], z.dtype.type(0))
    with np.errstate(all="ignore"):
        if softmax:
            top = z.max(axis=1, keepdims=True)
            logs, top = np.log(np.exp(z - top).sum(axis=1)), top.squeeze(1)
            sums = top + logs
            second = sums - top
            rest = (top - (sums - second)) + (logs - second)  # Knuth's
            rest = np.where(rest == rest, rest, z.dtype.type(0))
            lse = np.stack([sums.reshape(-1), rest.reshape(-1)])
        loss = np.where(kept, (-picked if lse is None else sums - picked + rest) * w, z.dtype.type(0))
        total = w.sum()
        scale = np.where(kept, -w / total, w) if reduction == "mean" else -w
        found = loss if reduction == "none" else loss.sum() / total if reduction == "mean" else loss.sum()
    loss, scale, total = (as_array(a).astype(x.dtype, copy=False) for a in (found, scale, total))
    lse = None if lse is None else lse.astype(x.dtype, copy=False)
    return loss, lse, np.where(np.expand_dims(kept, 1), index, -1) if softmax else index, scale, total


def cross_entropy_grad(g: Array, scale: Array, x: Array, index: Array, lse: Array) -> Array:
    """``-g * scale * (softmax(x) - onehot(index))``; but for ``g``, of all or of each, of ``class_losses``.

    What does not count is zero, or NaN where numbers beside it are not finite.
    """
    if (index >= x.shape[1]).any():
        raise IndexError(f"Target {index[index >= x.shape[1]][0]} is out of bounds.")
    counts = index >= 0
    with np.errstate(all="ignore"):
        factor = np.where(counts, np.expand_dims(wide(g) * -wide(scale), 1), wide(x).dtype.type(0))
        sums, rest = (np.expand_dims(part.reshape(scale.shape), 1) for part in wide(lse))
        grad = np.exp(wide(x) - sums - rest) * factor
        grad = np.where(factor == 0, sums - sums, grad)
        safe = np.where(counts, index, 0)
        np.put_along_axis(grad, safe, np.take_along_axis(grad, safe, 1) - factor, 1)
    return grad.astype(x.dtype, copy=False)
