"""Along one axis: running sums, products and extremes; reading and writing at places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from wengert.arrays.plain.widen import Array


def _carried(ufunc: Any, x: Array, axis: int) -> Array:
    with np.errstate(all="ignore"):
        if x.dtype.kind != "f" or x.dtype.itemsize > 4:
            return ufunc.accumulate(x, axis, x.dtype)  # type: ignore[no-any-return]
        return ufunc.accumulate(x, axis, np.float64).astype(x.dtype)  # type: ignore[no-any-return]


def running_sum(x: Array, axis: int, back: bool = False) -> Array:
    """Sums of all elements up to each one along ``axis`` (``back``: from each one on); float32 is carried in double precision."""
    return np.flip(_carried(np.add, np.flip(x, axis), axis), axis) if back else _carried(np.add, x, axis)


def running_product(x: Array, axis: int) -> Array:
    """Products of all elements up to each one along ``axis``; float32 is carried in double precision."""
    return _carried(np.multiply, x, axis)


def running_extreme(x: Array, axis: int, least: bool) -> tuple[Array, Array]:
    """The largest (or least) element so far, and its place: of equal ones the last, NaN before all others."""
    values = (np.minimum if least else np.maximum).accumulate(x, axis)
    here = (x == values) | (x != x) if x.dtype.kind in "fV" else x == values
    places = np.arange(x.shape[axis]).reshape((-1,) + (1,) * (x.ndim - axis % x.ndim - 1))
    return values, np.maximum.accumulate(np.where(here, places, 0), axis)


def _grid(index: Array, axis: int) -> tuple[Array, ...]:
    """The key that reads ``index`` along ``axis`` and every other dimension at its own place."""
    n = index.ndim
    return tuple(index if i == axis % n else np.arange(m).reshape((-1,) + (1,) * (n - i - 1)) for i, m in enumerate(index.shape))


def _checked(index: Array, x: Array, axis: int) -> None:
    if index.size and (index.min() < 0 or index.max() >= x.shape[axis]):
        raise IndexError("index out of range in self")


def take_along(x: Array, axis: int, index: Array) -> Array:
    """``x`` read at the places ``index`` along ``axis``. Other dimensions of ``index`` are no larger than those of ``x``."""
    _checked(index, x, axis)
    return x[_grid(index, axis)]  # type: ignore[no-any-return]


def put_along(out: Array, axis: int, index: Array, values: Array) -> Array:
    """Write ``values``, of the shape of ``index``, at the places along ``axis``, the last of several; return ``out``."""
    _checked(index, out, axis)
    out[_grid(index, axis)] = values
    return out


def add_along(out: Array, axis: int, index: Array, values: Array) -> Array:
    """Add ``values``, of the shape of ``index``, at the places along ``axis``, repeated ones too; return ``out``."""
    _checked(index, out, axis)
    np.add.at(out, _grid(index, axis), values)
    return out
