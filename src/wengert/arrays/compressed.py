"""Arrays that store some places by row or by column: CSR, CSC, and BSR, BSC of blocks.

``Compressed`` keeps what PyTorch keeps: for each row (column) where its entries begin, and for each entry its column
(row). Whatever is more than that is done in coordinates, see ``coo``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .array_likes import Scattered, new_filled, unsupported
from .sparse import Coo

BY_ROW, BLOCKED = frozenset(("sparse_csr", "sparse_bsr")), frozenset(("sparse_bsr", "sparse_bsc"))


class Compressed(Scattered):
    """An array of ``shape``, ``(*batch, rows, columns, *dense)``, in one of the four layouts.

    ``starts``: ``(*batch, rows + 1)``, ``others``: ``(*batch, n)``, ``values``: ``(*batch, n, *block, *dense)``.

    >>> Compressed("sparse_csr", np.array([0, 1, 3]), np.array([1, 0, 2]), np.array([1.0, 2.0, 3.0]), (2, 3)).dense()
    array([[0., 1., 0.],
           [2., 0., 3.]])
    """

    __slots__ = ("_at", "layout", "others", "starts")

    def __init__(self, layout: str, starts: np.ndarray, others: np.ndarray, values: np.ndarray, shape: tuple[int, ...],
            at: Any = None) -> None:
        self.layout, self.starts, self.others, self.values, self.shape, self._at = (layout, starts, others, values,
            shape, at)

    @property
    def block(self) -> tuple[int, ...]:
        """The shape of a block; empty where single elements are stored."""
        first = self.others.ndim
        return self.values.shape[first : first + 2] if self.layout in BLOCKED else ()

    @property
    def indices(self) -> np.ndarray:
        """The coordinates of each stored element, ``(batch dimensions + 2, count)``, in the order of the values."""
        if self._at is None:
            self._at = self._coordinates()
        return self._at

    def _coordinates(self) -> np.ndarray:
        batch = self.others.shape[:-1]
        lengths = np.diff(self.starts.reshape(-1, self.starts.shape[-1]), axis=1)
        along = np.tile(np.arange(lengths.shape[1]), len(lengths)).repeat(lengths.reshape(-1))
        across = self.others.reshape(-1).astype(np.int64)
        row, column = (along, across) if self.layout in BY_ROW else (across, along)
        n = self.others.shape[-1]
        outer = [i.reshape(-1).repeat(n) for i in np.indices(batch)]
        if self.block:
            high, wide = self.block
            inside = np.indices((high, wide)).reshape(2, -1)
            row, column = ((c[:, None] * m + i).reshape(-1)
                for c, m, i in ((row, high, inside[0]), (column, wide, inside[1])))
            outer = [o.repeat(high * wide) for o in outer]
        return np.stack([*outer, row, column])

    def elements(self) -> np.ndarray:
        """The values, one after the other: ``(count, *dense)``."""
        k = self.others.ndim + len(self.block)
        return self.values.reshape(-1, *self.values.shape[k:])

    def coo(self) -> Coo:
        """The same array by coordinates."""
        return Coo(self.indices, self.elements(), self.shape, self.layout == "sparse_csr")

    def with_values(self, values: np.ndarray) -> Compressed:
        """Other values, in the order of ``elements``, at the same places."""
        k = self.others.ndim + len(self.block)
        new = values.reshape(*self.values.shape[:k], *values.shape[1:])
        return Compressed(self.layout, self.starts, self.others, new, self.shape, self._at)

    def copy(self) -> Compressed:
        return Compressed(self.layout, self.starts.copy(), self.others.copy(), self.values.copy(), self.shape, self._at)

    def astype(self, dtype: Any) -> Compressed:
        return self.with_values(self.elements().astype(dtype))

    def dense(self) -> np.ndarray:
        """The array with its zeros."""
        return self.coo().dense()

    def like(self, other: Any) -> bool:
        """Whether ``other`` stores the same places in the same way."""
        return (
            type(other) is Compressed and other.layout == self.layout and other.shape == self.shape
            and (other.others is self.others
                or (np.array_equal(other.others, self.others) and np.array_equal(other.starts, self.starts)))
        )

    # -- arithmetic, as sums of gradients need it ----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if method != "__call__" or (out is not None and ufunc is not np.add):
            raise unsupported(ufunc.__name__)
        inputs = tuple(x.coo() if type(x) is Compressed else x for x in inputs)
        return ufunc(*inputs) if out is None else ufunc(*inputs, out=out)

    def __add__(self, other: Any) -> Any:
        if self.like(other):
            return self.with_values(self.elements() + other.elements())
        if type(other) is Compressed:
            return pressed(self.coo().join(other.coo()).coalesce(), self.layout, self.block)
        return self.coo() + other

    __radd__ = __add__

    def __mul__(self, factor: Any) -> Any:
        if np.ndim(factor):
            raise unsupported("mul")
        return self.with_values(self.elements() * factor)

    __rmul__ = __mul__


def pressed(a: Coo, layout: str, block: tuple[int, ...] = ()) -> Compressed:
    """A sparse array of batches of matrices in another layout; blocks are stored if one element is.

    ``RuntimeError`` if the matrices of a batch have different numbers of entries.
    """
    a = a.coalesce()
    k = len(a.indices) - 2
    batch, (rows, columns), dense = a.shape[:k], a.shape[k : k + 2], a.shape[k + 2 :]
    high, wide = block or (1, 1)
    row, column = a.indices[k], a.indices[k + 1]
    by_row = layout in BY_ROW
    first, second, n_first, n_second = (row // high, column // wide, rows // high, columns // wide)
    if not by_row:
        first, second, n_first, n_second = second, first, n_second, n_first
    outer = np.zeros(len(row), np.int64)
    for i, n in zip(a.indices[:k], batch):
        outer = outer * n + i
    keys = (outer * n_first + first) * n_second + second
    stored, place = np.unique(keys, return_inverse=True)
    count = math.prod(batch)
    per_matrix = (np.bincount(stored // (n_first * n_second), minlength=count) if n_first * n_second
        else np.zeros(count, np.int64))
    if count > 1 and (per_matrix != per_matrix[0]).any():
        raise RuntimeError("Expect the same number of specified elements per batch.")
    n = len(stored) // count if count else 0
    lengths = np.bincount(stored // n_second if n_second else stored, minlength=count * n_first).reshape(count, n_first)
    starts = np.concatenate([np.zeros((count, 1), np.int64), np.cumsum(lengths, axis=1)], axis=1)
    values = new_filled(a, np.zeros, (len(stored), high, wide, *dense), a.dtype)
    values[place.reshape(-1), row % high, column % wide] = a.values
    others = stored % n_second if n_second else stored
    inner = block if layout in BLOCKED else ()
    return Compressed(layout, starts.reshape(*batch, -1), others.reshape(*batch, n),
        values.reshape(*batch, n, *inner, *dense), a.shape)
