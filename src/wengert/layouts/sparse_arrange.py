"""Sparse tensors rearranged: joined, selected from, given dimensions or other sizes. What lies where it is stays
stored, zeros stay away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.sparse import Coo
from ..tensor.functions import function
from ..tensor.tensor import Tensor, wrap
from .sparse import OPERATORS, SparseTensor, _mm, _permute, _pow, entries, made, unsupported
from .sparse_inplace import becomes

if TYPE_CHECKING:
    from collections.abc import Sequence


def _axis(dim: int, ndim: int) -> int:
    if not -ndim <= dim < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")
    return dim % ndim


def _cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Joined along a sparse dimension the places move; along a dense one each value is padded with zeros."""
    for at, t in enumerate(tensors):
        if not t.is_sparse:
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {at}.")
    first = tensors[0]
    d, depth = _axis(dim, first.ndim), first.sparse_dim()
    rest = [n for i, n in enumerate(first.shape) if i != d]
    for at, t in enumerate(tensors):
        if t.sparse_dim() != depth or t.dense_dim() != first.dense_dim():
            raise RuntimeError(
                f"All tensors must have the same: sparse_dim, dense_dim. Found {depth}, {first.dense_dim()} at "
                f"position 0 and {t.sparse_dim()}, {t.dense_dim()} at position {at}"
            )
        if [n for i, n in enumerate(t.shape) if i != d] != rest:
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension).  "
                f"Found sizes: {list(t.shape)} at position {at}"
            )
    shape = [*first.shape]
    shape[d] = sum(t.shape[d] for t in tensors)
    indices, values, offset = [], [], 0
    for t in tensors:
        at, value = t._wg_data.indices, entries(t)
        if d < depth:
            at = at.copy()
            at[d] += offset
        else:
            before, after = ([*value.shape] for _ in range(2))
            before[d - depth + 1], after[d - depth + 1] = offset, shape[d] - offset - t.shape[d]
            zeros = [wrap(np.zeros(size, value._wg_data.dtype)) for size in (before, after)]
            value = function("cat")([zeros[0], value, zeros[1]], d - depth + 1)
        indices.append(at)
        values.append(value)
        offset += t.shape[d]
    return made(function("cat")(values), np.concatenate(indices, 1), shape)


def _stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    d = _axis(dim, tensors[0].ndim + 1)
    return _cat([_unsqueeze(t, d) for t in tensors], d)


def _kept(s: Any, which: np.ndarray) -> Tensor:
    return function("index_select")(entries(s), 0, wrap(which))


def _select(s: Any, dim: int, index: int) -> Any:
    """One slice: sparse, unless its only sparse dimension goes, for then it is the sum of what is stored there."""
    a, d, depth = s._wg_data, _axis(dim, s.ndim), s.sparse_dim()
    n = s.shape[d]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(s.shape)} at dimension {d}")
    index %= n
    shape = [*s.shape[:d], *s.shape[d + 1 :]]
    if d >= depth:
        return made(function("select")(entries(s), d - depth + 1, index), a.indices, shape, a.coalesced)
    which = np.flatnonzero(a.indices[d] == index)
    values = _kept(s, which)
    if depth == 1:
        return values.sum(0)
    return made(values, np.delete(a.indices[:, which], d, 0), shape, a.coalesced)


def _unsqueeze(s: Any, dim: int) -> Any:
    a, d, depth = s._wg_data, _axis(dim, s.ndim + 1), s.sparse_dim()
    shape = [*s.shape[:d], 1, *s.shape[d:]]
    if d > depth:
        return made(entries(s).unsqueeze(d - depth + 1), a.indices, shape, a.coalesced)
    return made(entries(s), np.insert(a.indices, d, 0, 0), shape)


def _index_select(s: Any, dim: int, index: Tensor) -> Any:
    a, d, depth = s._wg_data, _axis(dim, s.ndim), s.sparse_dim()
    wanted = index._wg_data.reshape(-1)
    shape = [*s.shape]
    shape[d] = wanted.size
    if wanted.size and not (0 <= wanted.min() and wanted.max() < s.shape[d]):
        raise IndexError("index_select(): index out of range")
    if d >= depth:
        return made(function("index_select")(entries(s), d - depth + 1, index), a.indices, shape, a.coalesced)
    rows = [np.flatnonzero(a.indices[d] == i) for i in wanted]
    which = np.concatenate(rows) if rows else np.empty(0, np.int64)
    at = a.indices[:, which].copy()
    at[d] = np.repeat(np.arange(wanted.size), [len(r) for r in rows])
    return made(_kept(s, which), at, shape)


def _narrow_copy(s: Any, dim: int, start: int, length: int) -> Any:
    return _index_select(s, dim, wrap(np.arange(start, start + length)))


def _reversed(s: Any) -> Any:
    return _permute(s, tuple(reversed(range(s.ndim))))


def _item(s: Any, key: Any) -> Any:
    """``s[key]`` for integers, whole slices and new dimensions."""
    row = key if isinstance(key, tuple) else (key,)
    d = 0
    for k in row:
        if k is None:
            s, d = _unsqueeze(s, d), d + 1
        elif isinstance(k, (int, np.integer)):
            if not -s.shape[d] <= k < s.shape[d]:
                raise IndexError(f"index {k} is out of bounds for dimension {d} with size {s.shape[d]}")
            s = _select(s, d, int(k)) if isinstance(s, SparseTensor) else s.select(d, int(k))
        elif isinstance(k, slice) and k == slice(None):
            d += 1
        else:
            raise unsupported("index.Tensor" if isinstance(k, Tensor) else "as_strided")
    return s


def _no_item(s: Any, key: Any, value: Any) -> None:
    raise TypeError("Cannot assign to a sparse tensor")


def _matmul(a: Any, b: Any, *more: Any) -> Any:
    """``a @ b``; a vector before a sparse matrix is multiplied by the transpose."""
    if a.ndim == 1 and b.ndim == 2 and isinstance(b, SparseTensor):
        return _mm(_reversed(b), a)
    return _mm(a, b, *more)


def _bmm(a: Any, b: Any) -> Tensor:
    """A batch of products of sparse matrices and dense ones, one by one."""
    if a.ndim != 3 or b.ndim != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(f"bmm: expected batches of matrices that multiply, but got sizes {list(a.shape)} and "
            f"{list(b.shape)}")
    return function("stack")([_mm(_select(a, 0, i), b.select(0, i)) for i in range(a.shape[0])])


def _any(s: Any) -> Tensor:
    return (entries(s.detach()) != 0).any()


def _floor_divide(s: Any, divisor: Any) -> Any:
    if isinstance(divisor, Tensor) and divisor.ndim:
        raise unsupported("floor_divide")
    s = s.coalesce()
    return made(function("floor_divide")(entries(s), divisor), s._wg_data.indices, s.shape, True)


def _resized(s: Any, size: Any, sparse_dim: int, dense_dim: int, clear: bool) -> Any:
    size = tuple(size)
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = "
            f"{sparse_dim}, dense_dim = {dense_dim}"
        )
    a = s._wg_data
    if clear or not a.indices.shape[1]:
        nothing = np.empty((0, *size[sparse_dim:]), a.dtype)
        return becomes(s, SparseTensor._wg_wrap(Coo(np.empty((sparse_dim, 0), np.int64), nothing, size, True)))
    for kind, have, wanted in (("sparse", s.sparse_dim(), sparse_dim), ("dense", s.dense_dim(), dense_dim)):
        if have != wanted:
            raise RuntimeError(
                f"changing the number of {kind} dimensions (from {have} to {wanted}) on a non-empty sparse tensor is "
                "not supported."
            )
    depth = sparse_dim
    for kind, part in (("sparse", slice(None, depth)), ("dense", slice(depth, None))):
        if any(new < old for new, old in zip(size[part], a.shape[part])):
            raise RuntimeError(
                f"shrinking the size of {kind} dimensions (from {list(a.shape[part])} to {list(size[part])}) on a "
                "non-empty sparse tensor is not supported."
            )
    values = np.zeros((a.indices.shape[1], *size[depth:]), a.dtype)
    values[tuple(slice(n) for n in a.values.shape)] = a.values
    return becomes(s, SparseTensor._wg_wrap(Coo(a.indices, values, size, a.coalesced)))


def _sparse_resize_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Give the tensor other sizes; what is stored stays, so they may not shrink."""
    return _resized(self, size, sparse_dim, dense_dim, False)


def _sparse_resize_and_clear_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Give the tensor other sizes and dimensions; nothing is stored any more."""
    return _resized(self, size, sparse_dim, dense_dim, True)


def _refusal(message: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(message)

    return refuse


OPERATORS |= {
    "cat": _cat, "concat": _cat, "stack": _stack, "select": _select, "unsqueeze": _unsqueeze,
    "index_select": _index_select,
    "unbind": lambda s, dim=0: tuple(_select(s, dim, i) for i in range(s.shape[_axis(dim, s.ndim)])),
    "narrow_copy": _narrow_copy, "numpy_T": _reversed, "any": _any, "floor_divide": _floor_divide,
    "__floordiv__": _floor_divide, "__pow__": _pow, "matmul": _matmul, "bmm": _bmm,
    "reshape": _refusal("reshape is not implemented for sparse tensors"),
    "expand": _refusal("expand is unsupported for Sparse tensors"),
}
SparseTensor.__getitem__ = _item  # type: ignore[assignment]
SparseTensor.__setitem__ = _no_item  # type: ignore[assignment]
SparseTensor.sparse_resize_ = _sparse_resize_  # type: ignore[attr-defined]
SparseTensor.sparse_resize_and_clear_ = _sparse_resize_and_clear_  # type: ignore[attr-defined]
