"""Sparse tensors rearranged (joined, selected from, given dimensions or other sizes) and written to in place.

What is written to gets other places and values, and the history of those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.array_likes import unsupported
from ..arrays.sparse import Coo
from ..graph.modes import modes
from ..ops.views import axis
from ..tensor.autograd_meta import requires_grad
from ..tensor.functions import function, inplace_function
from ..tensor.inplace import check_writable
from ..tensor.tensor import Tensor, wrap
from . import sparse as S
from .sparse import OPERATORS, SparseTensor, _is_sparse, entries, like, made, refusing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Joined along a sparse dimension the places move; along a dense one each value is padded with zeros."""
    for at, t in enumerate(tensors):
        if not t.is_sparse:
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {at}.")
    first = tensors[0]
    d, depth = axis(dim, first.ndim), first.sparse_dim()
    rest = [n for i, n in enumerate(first.shape) if i != d]
    for at, t in enumerate(tensors):
        if t.sparse_dim() != depth or t.dense_dim() != first.dense_dim():
            raise RuntimeError(f"All tensors must have the same: sparse_dim, dense_dim. Found {depth}, "
                f"{first.dense_dim()} at position 0 and {t.sparse_dim()}, {t.dense_dim()} at position {at}")
        if [n for i, n in enumerate(t.shape) if i != d] != rest:
            raise RuntimeError(f"All tensors must have the same shape: {list(first.shape)} (except in the "
                f"concatenating dimension).  Found sizes: {list(t.shape)} at position {at}")
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
    d = axis(dim, tensors[0].ndim + 1)
    return _cat([_unsqueeze(t, d) for t in tensors], d)


def _kept(s: Any, which: np.ndarray) -> Tensor:
    return function("index_select")(entries(s), 0, wrap(which))


def _select(s: Any, dim: int, index: int) -> Any:
    """One slice: sparse, unless its only sparse dimension goes, for then it is the sum of what is stored there."""
    a, d, depth = s._wg_data, axis(dim, s.ndim), s.sparse_dim()
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
    a, d, depth = s._wg_data, axis(dim, s.ndim + 1), s.sparse_dim()
    shape = [*s.shape[:d], 1, *s.shape[d:]]
    if d > depth:
        return made(entries(s).unsqueeze(d - depth + 1), a.indices, shape, a.coalesced)
    return made(entries(s), np.insert(a.indices, d, 0, 0), shape)


def _index_select(s: Any, dim: int, index: Tensor) -> Any:
    a, d, depth = s._wg_data, axis(dim, s.ndim), s.sparse_dim()
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


def _reversed(s: Any) -> Any:
    return S._permute(s, tuple(reversed(range(s.ndim))))


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


def _matmul(a: Any, b: Any, *more: Any) -> Any:
    """``a @ b``; a vector before a sparse matrix is multiplied by the transpose."""
    if a.ndim == 1 and b.ndim == 2 and isinstance(b, SparseTensor):
        return S._mm(_reversed(b), a)
    return S._mm(a, b, *more)


def _bmm(a: Any, b: Any) -> Tensor:
    """A batch of products of sparse matrices and dense ones, one by one."""
    if a.ndim != 3 or b.ndim != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(f"bmm: expected batches of matrices that multiply, but got sizes {list(a.shape)} and "
            f"{list(b.shape)}")
    return function("stack")([S._mm(_select(a, 0, i), b.select(0, i)) for i in range(a.shape[0])])


def _floor_divide(s: Any, divisor: Any) -> Any:
    if isinstance(divisor, Tensor) and divisor.ndim:
        raise unsupported("floor_divide")
    s = s.coalesce()
    return made(function("floor_divide")(entries(s), divisor), s._wg_data.indices, s.shape, True)


def _resized(s: Any, size: Any, sparse_dim: int, dense_dim: int, clear: bool) -> Any:
    size = tuple(size)
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, "
            f"sparse_dim = {sparse_dim}, dense_dim = {dense_dim}")
    a = s._wg_data
    if clear or not a.indices.shape[1]:
        nothing = np.empty((0, *size[sparse_dim:]), a.dtype)
        return becomes(s, SparseTensor._wg_wrap(Coo(np.empty((sparse_dim, 0), np.int64), nothing, size, True)))
    for kind, have, wanted in (("sparse", s.sparse_dim(), sparse_dim), ("dense", s.dense_dim(), dense_dim)):
        if have != wanted:
            raise RuntimeError(f"changing the number of {kind} dimensions (from {have} to {wanted}) on a non-empty "
                "sparse tensor is not supported.")
    depth = sparse_dim
    for kind, part in (("sparse", slice(None, depth)), ("dense", slice(depth, None))):
        if any(new < old for new, old in zip(size[part], a.shape[part])):
            raise RuntimeError(f"shrinking the size of {kind} dimensions (from {list(a.shape[part])} to "
                f"{list(size[part])}) on a non-empty sparse tensor is not supported.")
    values = np.zeros((a.indices.shape[1], *size[depth:]), a.dtype)
    values[tuple(slice(n) for n in a.values.shape)] = a.values
    return becomes(s, SparseTensor._wg_wrap(Coo(a.indices, values, size, a.coalesced)))


def _sparse_resize_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Give the tensor other sizes; what is stored stays, so they may not shrink."""
    return _resized(self, size, sparse_dim, dense_dim, False)


def _sparse_resize_and_clear_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Give the tensor other sizes and dimensions; nothing is stored any more."""
    return _resized(self, size, sparse_dim, dense_dim, True)


# -- in place ----------------------------------------------------------------------------------------------------------


def becomes(s: Any, new: Any) -> Any:
    """Give ``s`` the array and the history of ``new``."""
    if modes().grad and s._wg_edge is None and requires_grad(s):
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if new._wg_data.dtype != s._wg_data.dtype:
        _check_cast(new, s)
        new = new.to(s.dtype)
    s._wg_data, s._wg_edge = new._wg_data, new._wg_edge
    s._wg_vc[0] += 1
    return s


def _check_cast(source: Any, target: Any) -> None:
    found, wanted = source._wg_data.dtype, target._wg_data.dtype
    if not dt.can_cast(found, wanted):
        raise RuntimeError(f"result type {dt.scalar_name(found)} can't be cast to the desired output type "
            f"{dt.scalar_name(wanted)}")


def _in_place(run: Callable[..., Any], coalesced: str = "") -> Callable[..., Any]:
    """``coalesced``: the name of an operator that has to find each place once."""

    def write(s: Any, *args: Any, **named: Any) -> Any:
        if coalesced and not s.is_coalesced():
            raise RuntimeError(f"{coalesced} requires coalesced input")
        return becomes(s, run(s, *args, **named))

    return write


def _add_in_place(a: Any, b: Any, alpha: Any = 1) -> Any:
    if _is_sparse(a):
        return becomes(a, S._add(a, b, alpha))
    b._wg_data.check_dense(a.shape)
    m = modes()
    if m.grad and (requires_grad(a) or requires_grad(b)):
        return inplace_function("add")(a, b.to_dense(), alpha=alpha)
    check_writable(a, False, m)
    _check_cast(b, a)
    b._wg_data.astype(a._wg_data.dtype).add_to(a._wg_data, None if alpha == 1 else alpha)
    a._wg_vc[0] += 1
    return a


def _copy_in_place(a: Any, b: Any, *_: Any) -> Any:
    if _is_sparse(a) and _is_sparse(b):
        return becomes(a, like(b, entries(b).clone()))
    names = [f"torch.{'sparse.' if _is_sparse(x) else ''}{dt.scalar_name(x._wg_data.dtype)}Tensor" for x in (a, b)]
    raise RuntimeError(f"copy_() between dense and sparse Tensors is not implemented! Found self type = {names[0]} and "
        f"src type = {names[1]}")


# -- the tables --------------------------------------------------------------------------------------------------------


OPERATORS |= {
    "cat": _cat, "concat": _cat, "stack": _stack, "select": _select, "unsqueeze": _unsqueeze,
    "index_select": _index_select,
    "unbind": lambda s, dim=0: tuple(_select(s, dim, i) for i in range(s.shape[axis(dim, s.ndim)])),
    "narrow_copy": lambda s, dim, start, length: _index_select(s, dim, wrap(np.arange(start, start + length))),
    "numpy_T": _reversed, "any": lambda s: (entries(s.detach()) != 0).any(), "floor_divide": _floor_divide,
    "__floordiv__": _floor_divide, "__pow__": S._pow, "matmul": _matmul, "bmm": _bmm,
    "reshape": refusing(RuntimeError, "reshape is not implemented for sparse tensors"),
    "expand": refusing(RuntimeError, "expand is unsupported for Sparse tensors"),
}
SparseTensor.__getitem__ = _item  # type: ignore[assignment]
SparseTensor.__setitem__ = refusing(TypeError, "Cannot assign to a sparse tensor")  # type: ignore[assignment]
SparseTensor.sparse_resize_ = _sparse_resize_  # type: ignore[attr-defined]
SparseTensor.sparse_resize_and_clear_ = _sparse_resize_and_clear_  # type: ignore[attr-defined]

# The methods that are no operators here; those that need strides are refused in PyTorch's words.
_METHODS = {"t_": _in_place(S._t), **dict.fromkeys(("transpose_", "swapaxes_", "swapdims_"), _in_place(S._transpose))}
for _text, _names in {
    "as_strided": ("squeeze", "narrow", "diagonal", "split", "chunk", "as_strided"),
    "as_strided_": ("squeeze_", "unsqueeze_", "as_strided_"), "resize_": ("resize_",), "set_.source_Tensor": ("set_",),
    "is_set_to": ("is_set_to",), "fill_.Scalar": ("fill_",), "view": ("view_as",),
}.items():
    _METHODS |= dict.fromkeys(_names, refusing(unsupported, _text))
for _name, _method in _METHODS.items():
    _method.__name__ = _name
    setattr(SparseTensor, _name, _method)

OPERATORS |= {
    "t": S._t, "transpose": S._transpose, "permute": S._permute, "add_": _add_in_place, "div_": _in_place(S._div),
    "sub_": lambda a, b, alpha=1: _add_in_place(a, b, -alpha), "copy_": _copy_in_place,
    "mul_": lambda a, b: becomes(a, S._mul(a, b)) if _is_sparse(a) else inplace_function("mul")(a, b.to_dense()),
    "zero_": lambda s: becomes(s, S.nothing_like(s, s._wg_data.dtype)),
}
OPERATORS |= {f"{name}_": _in_place(OPERATORS[name]) for name in ("neg", "square")}
OPERATORS |= {f"{n}_": _in_place(OPERATORS[n], f"{n}_") for n in S.KEEPS_ZERO
    if not n.startswith("is") and n not in ("square", "signbit")}
