"""Arrays that store only some places: coordinates and values (COO).

``Coo`` stands where an ndarray would: gradients of look-up tables are such arrays, and sparse tensors hold one. It adds
to dense arrays (in place too) and to its like and takes factors; whatever would need every element is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .stand_ins import Scattered, unsupported


class Coo(Scattered):
    """An array of ``shape`` that is zero but for ``values`` at ``indices``.

    ``indices``: int64, ``(sparse dimensions, n)``. ``values``: ``(n, *the other dimensions)``. A place may occur more
    than once, then its values count together; ``coalesced`` says that each occurs once, in order.

    >>> Coo(np.array([[0, 2, 0]]), np.array([1.0, 2.0, 3.0]), (3,)).dense()
    array([4., 0., 2.])
    """

    __slots__ = ("coalesced", "indices")

    def __init__(self, indices: np.ndarray, values: np.ndarray, shape: tuple[int, ...], coalesced: bool = False) -> None:
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
        """``(first, group)``: where each distinct place occurs first, in order, and for every entry the number of its place."""
        _, first, group = np.unique(self.keys(), return_index=True, return_inverse=True)
        return first, group.reshape(-1)

    def coalesce(self) -> Coo:
        """The same array with each place once, in order."""
        if self.coalesced or self.indices.shape[1] == 0:
            return Coo(self.indices, self.values, self.shape, True)
        keys = self.keys()
        order = keys.argsort(kind="stable")
        keys = keys[order]
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        values = self.values[order]
        values = values if len(starts) == len(keys) else np.add.reduceat(values, starts, axis=0, dtype=values.dtype)
        return Coo(self.indices[:, order[starts]], values, self.shape, True)

    def add_to(self, out: np.ndarray, factor: Any = None) -> np.ndarray:
        """Add this array (times ``factor``) to a dense one of the same shape, in place."""
        if out.shape != self.shape:
            raise RuntimeError(
                f"add: expected 'self' and 'other' to have same size, but self has size {list(out.shape)} while other has size "
                f"{list(self.shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
            )
        once = self.coalesce()
        values = once.values if factor is None else once.values * once.values.dtype.type(factor)
        if len(self.indices) == 0:
            out += values.sum(0, dtype=values.dtype)
        else:
            out[tuple(once.indices)] += values
        return out

    def dense(self) -> np.ndarray:
        """The array with its zeros."""
        return self.add_to(np.zeros(self.shape, self.dtype))

    def fits(self, other: Coo) -> None:
        """Refuse to add an array of another shape, or with other sparse dimensions."""
        if self.shape != other.shape:
            raise RuntimeError(f"add: expected sizes of 'self' and 'other' to match, but {list(self.shape)} != {list(other.shape)}")
        if len(self.indices) != len(other.indices):
            raise RuntimeError(
                f"add: expected 'self' and 'other' to have same number of sparse dims, but self has {len(self.indices)} sparse dim(s) "
                f"while other has {len(other.indices)}"
            )

    def join(self, other: Coo) -> Coo:
        """The sum of two sparse arrays."""
        self.fits(other)
        both = Coo(np.concatenate([self.indices, other.indices], 1), np.concatenate([self.values, other.values]), self.shape)
        return both.coalesce() if self.coalesced and other.coalesced else both

    # -- arithmetic, as NumPy's operators and ufuncs ask for it ---------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        run = _UFUNCS.get(ufunc.__name__)
        if run is None or method != "__call__" or (out is not None and ufunc.__name__ != "add"):
            raise unsupported(ufunc.__name__)
        if out is None:
            return run(*inputs)
        a, b = inputs
        target = out[0]
        if a is not target or not isinstance(target, np.ndarray):
            raise unsupported("add.out")
        return b.add_to(target)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.shape or function is np.ndim:
            return getattr(self, function.__name__)
        raise unsupported(function.__name__)

    def __add__(self, other: Any) -> Any:
        return _add(self, other)

    def __radd__(self, other: Any) -> Any:
        return _add(other, self)

    def __mul__(self, other: Any) -> Any:
        return _mul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return _div(self, other)

    def __neg__(self) -> Coo:
        return self.with_values(-self.values)

    def __sub__(self, other: Any) -> Any:
        return _add(self, -other)

    def __rsub__(self, other: Any) -> Any:
        return _add(other, -self)


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
    if type(a) is not Coo or np.ndim(b) != 0 or type(b) is Coo:
        raise unsupported("div")
    return a.with_values(a.values / b)


_UFUNCS: dict[str, Any] = {
    "add": _add, "multiply": _mul, "divide": _div, "subtract": lambda a, b: _add(a, -b), "negative": lambda a: -a,
    "conjugate": lambda a: a.with_values(a.values.conj()),
}  # fmt: skip
