"""Arrays that store only some places: coordinates and values (COO).

``Coo`` stands where an ndarray would, in sparse tensors and as the gradient of look-up tables. It adds to dense arrays
and to other ``Coo``, takes factors, and supports the gradient rules that only move places (``T``, ``swapaxes``,
``transpose``, an integer as a key, ``np.concatenate``); what PyTorch refuses is refused in its words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import kernels as K
from .array_likes import Scattered, new_filled, unsupported


class Coo(Scattered, np.lib.mixins.NDArrayOperatorsMixin):
    """An array of ``shape`` that is zero but for ``values`` at ``indices``.

    ``indices``: int64, ``(sparse dimensions, n)``. ``values``: ``(n, *the other dimensions)``. A place may occur more
    than once, then its values count together; ``coalesced`` says that each occurs once, in order.

    >>> Coo(np.array([[0, 2, 0]]), np.array([1.0, 2.0, 3.0]), (3,)).dense()
    array([4., 0., 2.])
    """

    __slots__ = ("coalesced", "indices")

    def __init__(self, indices: np.ndarray, values: np.ndarray, shape: tuple[int, ...],
            coalesced: bool = False) -> None:
        self.indices, self.values, self.shape, self.coalesced = indices, values, shape, coalesced

    def with_values(self, values: np.ndarray) -> Coo:
        """Other values at the same places."""
        return Coo(self.indices, values, self.shape, self.coalesced)

    def copy(self) -> Coo:
        return Coo(self.indices.copy(), self.values.copy(), self.shape, self.coalesced)

    def astype(self, dtype: Any) -> Coo:
        return self.with_values(self.values.astype(dtype))

    def keys(self) -> np.ndarray:
        """One number for each stored place, in the order of the places."""
        depth = len(self.indices)
        if depth == 0:
            return np.zeros(self.indices.shape[1], np.int64)
        keys = self.indices[0]
        for row, n in zip(self.indices[1:], self.shape[1:depth]):
            keys = keys * n + row
        return keys

    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """``(first, group)``: where each distinct place occurs first, in order, and each entry's number of place."""
        _, first, group = np.unique(self.keys(), return_index=True, return_inverse=True)
        return first, group.reshape(-1)

    def coalesce(self) -> Coo:
        """The same array with each place once, in order."""
        if self.coalesced or self.indices.shape[1] == 0:
            return Coo(self.indices, self.values, self.shape, True)
        keys = self.keys()
        order = K.sorted_places(keys[None], False)[0]
        keys = keys[order]
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        values = self.values[order]
        if len(starts) < len(keys):
            values = _added_up(values, starts)
        return Coo(self.indices[:, order[starts]], values, self.shape, True)

    def add_to(self, out: np.ndarray, factor: Any = None) -> np.ndarray:
        """Add this array (times ``factor``) to a dense one of the same shape, in place."""
        self.check_dense(out.shape)
        once = self.coalesce()
        values = once.values if factor is None else once.values * once.values.dtype.type(factor)
        if len(self.indices) == 0:
            out += values.sum(0, dtype=values.dtype)
        else:
            add_rows(out, tuple(once.indices), values)
        return out

    def check_dense(self, shape: tuple[int, ...]) -> None:
        """Refuse to be added to a dense array of another shape."""
        if shape != self.shape:
            raise RuntimeError(f"add: expected 'self' and 'other' to have same size, but self has size {list(shape)} "
                f"while other has size {list(self.shape)} (FYI: dense-sparse addition does not currently support "
                "broadcasting)")

    def dense(self) -> np.ndarray:
        """The array with its zeros."""
        return self.add_to(new_filled(self, np.zeros, self.shape, self.dtype))

    def fits(self, other: Coo) -> None:
        """Refuse to add an array of another shape, or with other sparse dimensions."""
        if self.shape != other.shape:
            raise RuntimeError(f"add: expected sizes of 'self' and 'other' to match, but {list(self.shape)} != "
                f"{list(other.shape)}")
        if len(self.indices) != len(other.indices):
            raise RuntimeError("add: expected 'self' and 'other' to have same number of sparse dims, but self has "
                f"{len(self.indices)} sparse dim(s) while other has {len(other.indices)}")

    def join(self, other: Coo) -> Coo:
        """The sum of two sparse arrays."""
        self.fits(other)
        values, more = self.values, other.values
        if values.flags.c_contiguous and more.flags.c_contiguous and np.array_equal(self.indices, other.indices):
            return Coo(self.indices, values + more, self.shape, self.coalesced and other.coalesced)
        both = Coo(np.concatenate([self.indices, other.indices], 1), np.concatenate([values, more]), self.shape)
        return both.coalesce() if self.coalesced and other.coalesced else both

    # -- the places moved about ----------------------------------------------------------------------------------------

    @property
    def T(self) -> Coo:
        depth = len(self.indices)
        if depth > 2 or depth < self.ndim:
            raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {depth} sparse "
                f"and {self.ndim - depth} dense dimensions")
        return Coo(self.indices[::-1], self.values, self.shape[::-1])

    def swapaxes(self, a: int, b: int) -> Coo:
        a, b, depth = a % self.ndim, b % self.ndim, len(self.indices)
        if a == b:
            return self
        if a >= depth or b >= depth:
            raise RuntimeError(f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {depth}, d0: "
                f"{a}, d1: {b}")
        row = list(range(self.ndim))
        row[a], row[b] = b, a
        return self.transpose(tuple(row))

    def transpose(self, row: tuple[int, ...]) -> Coo:
        depth = len(self.indices)
        if any(d >= depth for d in row[:depth]):
            raise RuntimeError("permute(sparse_coo): transpositions between sparse and dense dimensions are not "
                "allowed.Only transpositions within sparse and dense dimensions are supported.")
        values = self.values.transpose(0, *(d - depth + 1 for d in row[depth:]))
        coalesced = self.coalesced and row[:depth] == tuple(range(depth))
        return Coo(self.indices[list(row[:depth])], values, tuple(self.shape[d] for d in row), coalesced)

    def reshape(self, *shape: Any) -> Coo:
        raise RuntimeError("reshape is not implemented for sparse tensors")

    def __getitem__(self, key: Any) -> Any:
        """One slice: ``a[i]``, ``a[:, i]`` and so on; dense where no sparse dimension is left."""
        row = [k for k in (key if isinstance(key, tuple) else (key,)) if k is not Ellipsis]
        d = len(row) - 1
        if (not row or not isinstance(row[d], (int, np.integer))
                or any(not isinstance(k, slice) or k != slice(None) for k in row[:d])):
            raise unsupported("as_strided")
        n, depth = self.shape[d], len(self.indices)
        if not -n <= row[d] < n:
            raise IndexError(f"index {row[d]} is out of bounds for dimension {d} with size {n}")
        at, shape = row[d] % n, self.shape[:d] + self.shape[d + 1 :]
        if d >= depth:
            return Coo(self.indices, self.values[(slice(None),) * (d - depth + 1) + (at,)], shape, self.coalesced)
        here = self.indices[d] == at
        if depth == 1:
            return self.values[here].sum(0, dtype=self.dtype)
        return Coo(np.delete(self.indices[:, here], d, 0), self.values[here], shape, self.coalesced)

    def sum_to(self, shape: tuple[int, ...]) -> Any:
        """Sum what broadcasting ``shape`` to this array's repeats: dense where no sparse dimension is left."""
        extra, depth = self.ndim - len(shape), len(self.indices)
        axes = [i for i in range(self.ndim) if i < extra or (shape[i - extra] == 1 != self.shape[i])]
        if not axes:
            return self
        dense = tuple(a - depth + 1 for a in axes if a >= depth)
        if all(a in axes for a in range(depth)):
            return self.values.sum((0, *dense), dtype=self.dtype).reshape(shape)
        if extra:  # the dimensions that were put before go by a view
            raise unsupported("view")
        indices, values = self.indices.copy(), self.values.sum(dense, dtype=self.dtype)
        indices[[a for a in axes if a < depth]] = 0
        wide = [shape[i] for i in range(depth)]
        for a in axes:
            if a >= depth:  # comes back as a sparse dimension if it is next to those, else among the values
                if a == len(indices):
                    indices = np.concatenate([indices, np.zeros_like(indices[:1])])
                    wide.append(1)
                else:
                    values = np.expand_dims(values, a - len(indices) + 1)
        once = Coo(indices, values, shape).coalesce()
        once.coalesced = False
        return once

    # -- arithmetic, called by NumPy's operators and ufuncs --------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if ufunc is np.add and method == "reduce" and options.get("axis") is not None and not options.get("keepdims"):
            axis = options["axis"]
            axes = {a % self.ndim for a in (axis if isinstance(axis, tuple) else (axis,))}
            if not axes.issuperset(range(len(self.indices))):
                raise unsupported("view")
            return self.sum_to(tuple(1 if a in axes else n for a, n in enumerate(self.shape))).squeeze(tuple(axes))
        run = _UFUNCS.get(ufunc.__name__)
        if run is None or method != "__call__" or (out is not None and ufunc is not np.add):
            raise unsupported(ufunc.__name__)
        if out is None:
            return run(*inputs)
        if inputs[0] is not out[0] or not isinstance(out[0], np.ndarray):
            raise unsupported("add.out")
        return inputs[1].add_to(out[0])

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.shape or function is np.ndim:
            return getattr(self, function.__name__)
        if function is np.concatenate:
            return _joined(*args, **kwargs)
        raise unsupported(function.__name__)


def _added_up(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The sums of runs of rows that begin at ``starts``."""
    if values.ndim == 1 or values.dtype.kind != "f":
        return np.add.reduceat(values, starts, axis=0, dtype=values.dtype)  # type: ignore[no-any-return]
    others = np.ones(len(values), bool)
    others[starts] = False
    runs = np.cumsum(~others) - 1
    return K.add_at(values[starts], runs[others], values[others])  # type: ignore[no-any-return]


def rows_at(a: np.ndarray, at: tuple[np.ndarray, ...]) -> np.ndarray:
    """A copy of ``a[at]``: of whole rows, if there is one array of places."""
    return a.take(at[0], 0) if len(at) == 1 and type(a) is np.ndarray else a[at]


def add_rows(a: np.ndarray, at: tuple[np.ndarray, ...], more: np.ndarray) -> None:
    """``a[at] += more`` for distinct places."""
    if len(at) == 1 and type(a) is np.ndarray and a.dtype.char in "fd" and K.available:
        K.add_at(a, at[0], more)
    else:
        a[at] += more


def taken(a: Any, indices: np.ndarray) -> np.ndarray:
    """The values of an array, sparse or dense, at ``indices`` ``(sparse dimensions, n)``."""
    if hasattr(type(a), "coo"):  # stored by rows or columns
        if a.indices is indices:
            return a.elements()
        a = a.coo()
    if type(a) is Coo:
        if a.indices is indices and a.coalesced:
            return a.values
        a = a.dense()
    return np.broadcast_to(a, (indices.shape[1], *a.shape)) if len(indices) == 0 else a[tuple(indices)]


def _joined(arrays: Any, axis: int = 0) -> Coo:
    """Sparse arrays one after another."""
    first = arrays[0]
    for i, a in enumerate(arrays):
        if type(a) is not Coo:
            if i == 0 or len(first.indices) <= axis % first.ndim:
                raise unsupported("_values", "CPU")
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {i}.")
    d, depth = axis % first.ndim, len(first.indices)
    n = sum(a.shape[d] for a in arrays)
    indices, values, start = [], [], 0
    for a in arrays:
        at, rows = a.indices, a.values
        if d < depth:
            at = at.copy()
            at[d] += start
        else:
            margin = [(0, 0)] * rows.ndim
            margin[d - depth + 1] = (start, n - start - a.shape[d])
            rows = np.pad(rows, margin)
        indices.append(at)
        values.append(rows)
        start += a.shape[d]
    return Coo(np.concatenate(indices, 1), np.concatenate(values), first.shape[:d] + (n,) + first.shape[d + 1 :])


def _add(a: Any, b: Any) -> Any:
    if type(a) is Coo and type(b) is Coo:
        return a.join(b)
    dense, sparse = (b, a) if type(a) is Coo else (a, b)
    if np.shape(dense) != sparse.shape:
        raise unsupported("add")
    return sparse.add_to(np.array(dense, np.result_type(dense, sparse.dtype)))


def _mul(a: Any, b: Any) -> Any:
    if type(a) is not Coo:
        a, b = b, a
    if np.ndim(b) == 0 and type(b) is not Coo:
        return a.with_values(a.values * b)
    if type(b) is Coo:
        a = a.coalesce()
        return a.with_values(a.values * taken(b, a.indices))
    return a.with_values(a.values * taken(np.broadcast_to(b, a.shape), a.indices))


def _div(a: Any, b: Any) -> Any:
    if type(a) is not Coo or type(b) is Coo:
        raise unsupported("div")
    if np.ndim(b) != 0:
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(np.shape(b))} for divisor)")
    return a.with_values(a.values / b)


_UFUNCS: dict[str, Any] = {
    "add": _add, "multiply": _mul, "divide": _div, "subtract": lambda a, b: _add(a, -b),
    "negative": lambda a: a.with_values(-a.values), "conjugate": lambda a: a.with_values(a.values.conj()),
}
