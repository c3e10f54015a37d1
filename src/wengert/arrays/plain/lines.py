"""Along one axis: running sums, products and extremes; reading and writing at places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.arrays.array_likes import FOREIGN, counted

if TYPE_CHECKING:
    from wengert.arrays.plain.widen import Array


def _carried(ufunc: Any, x: Array, axis: int) -> Array:
    with np.errstate(all="ignore"):
        if x.dtype.kind != "f" or x.dtype.itemsize > 4:
            return ufunc.accumulate(x, axis, x.dtype)  # type: ignore[no-any-return]
        return ufunc.accumulate(x, axis, np.float64).astype(x.dtype)  # type: ignore[no-any-return]


def running_sum(x: Array, axis: int, back: bool) -> Array:
    """Sums up to each element along ``axis`` (``back``: from it on); float32 is carried in double precision, complex
    numbers by their parts.
    """
    if x.dtype.kind == "c" and type(x) is np.ndarray and x.size:
        parts = np.ascontiguousarray(x).view(x.real.dtype).reshape(*x.shape, 2)
        return np.ascontiguousarray(running_sum(parts, axis % x.ndim, back)).view(x.dtype).reshape(x.shape)
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


def extreme(x: Array, axis: int, least: bool, keepdim: bool) -> tuple[Array, Array]:
    """The largest (or least) along ``axis``, and its place: of equal ones the first, NaN before all others."""
    values = (np.min if least else np.max)(x, axis, keepdims=keepdim)
    return values, (np.argmin if least else np.argmax)(x, axis, None, keepdims=keepdim)


def _grid(index: Array, axis: int) -> tuple[Array, ...]:
    """The key that reads ``index`` along ``axis`` and every other dimension at its own place."""
    n = index.ndim
    return tuple(index if i == axis % n else counted(index, m).reshape((-1,) + (1,) * (n - i - 1))
        for i, m in enumerate(index.shape))


def _checked(index: Array, low: int, high: int) -> None:
    if not index.size:
        return
    if type(index) in FOREIGN:
        index.check_later(low, high, "index out of range in self")  # type: ignore[attr-defined]
    elif index.min() < low or index.max() >= high:
        raise IndexError("index out of range in self")


def take_along(x: Array, axis: int, index: Array) -> Array:
    """``x`` at the places ``index`` along ``axis``; other dimensions of ``index`` are no larger than its own."""
    _checked(index, 0, x.shape[axis])
    return x[_grid(index, axis)]  # type: ignore[no-any-return]


def put_along(out: Array, axis: int, index: Array, values: Array) -> Array:
    """Write ``values``, one or shaped as ``index``, at places along ``axis``, the last of several; return ``out``."""
    _checked(index, 0, out.shape[axis])
    out[_grid(index, axis)] = values
    return out


def add_along(out: Array, axis: int, index: Array, values: Array) -> Array:
    """Add ``values``, of the shape of ``index``, at the places along ``axis``, repeated ones too; return ``out``."""
    _checked(index, 0, out.shape[axis])
    np.add.at(out, _grid(index, axis), values)
    return out


JOINS = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def join_along(out: Array, axis: int, index: Array, values: Array, how: str) -> Array:
    """As ``add_along``, for "sum", "prod", "amax" or "amin" with what is there; NaN is above and below all others."""
    _checked(index, 0, out.shape[axis])
    JOINS[how].at(out, _grid(index, axis), values)
    return out


def fold_runs(rows: Array, lengths: Array, how: str, start: Array) -> Array:
    """For each run of so many rows of a matrix, one run after the other: ``start`` joined with them, as ``join_along``
    does it.
    """
    out = np.full((len(lengths), rows.shape[1]), start, rows.dtype)
    JOINS[how].at(out, np.repeat(np.arange(len(lengths)), lengths), rows)
    return out


def add_at(out: Array, index: Array, values: Array) -> Array:
    """Add rows of ``values`` to the rows of ``out`` that ``index`` names, repeated ones too, and return ``out``.

    ``out`` is ``(R, *row)``, ``index`` integers of any shape in ``[-R, R)``, ``values`` is ``(*index.shape, *row)``.
    """
    index, values = index.reshape(-1), values.reshape(index.size, *out.shape[1:])
    if index.size == 0:
        return out
    _checked(index, -len(out), len(out))
    if out.ndim == 1 or type(out) in FOREIGN:
        np.add.at(out, index, values)
        return out
    # One addition for each distinct row beats np.add.at on rows: sort, sum the runs, add the sums.
    index = np.where(index < 0, index + len(out), index)
    order = np.argsort(index, kind="stable")
    index = index[order]
    starts = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1])))
    out[index[starts]] += np.add.reduceat(values[order], starts, axis=0)
    return out


def mode_places(rows: Array) -> Array:
    """The place of the most frequent value of each row: of equal ones, and beside NaN, PyTorch's choice."""
    return np.array([_mode_place(row.tolist()) for row in rows], np.int64)


def _mode_place(row: list[Any]) -> int:
    x, n = list(zip(row, range(len(row)))), len(row)
    _partition(x, 0, n, 2 * (n.bit_length() - 1) if n else 0)
    _insert(x)
    found, most, count = 0, 0, 1
    for k, (value, place) in enumerate(x):
        if k == n - 1 or value != x[k + 1][0]:
            if count > most:
                most, found = count, place
            count = 0
        count += 1
    return found


Held = list[tuple[Any, int]]


def _partition(x: Held, start: int, end: int, depth: int) -> None:
    """The first part of GNU's ``std::sort`` by values alone, whose order of equal ones shows in PyTorch's answer."""
    while end - start > 16:
        if not depth:
            x[start:end] = _heap_sorted(x[start:end])
            return
        depth -= 1
        a, b, c = start + 1, start + (end - start) // 2, end - 1
        va, vb, vc = x[a][0], x[b][0], x[c][0]
        middle = (b if vb < vc else c if va < vc else a) if va < vb else a if va < vc else c if vb < vc else b
        x[start], x[middle] = x[middle], x[start]
        pivot, low, high = x[start][0], start + 1, end
        while True:
            while low < end and x[low][0] < pivot:
                low += 1
            high -= 1
            while high > start and pivot < x[high][0]:
                high -= 1
            if low >= high:
                break
            x[low], x[high] = x[high], x[low]
            low += 1
        _partition(x, low, end, depth)
        end = low


def _insert(x: Held) -> None:
    for i in range(1, len(x)):
        held, k = x[i], i
        if i < 16 and held[0] < x[0][0]:
            k = 0
        else:
            while k > 0 and held[0] < x[k - 1][0]:
                k -= 1
        x[k + 1 : i + 1] = x[k:i]
        x[k] = held


def _heap_sorted(x: Held) -> Held:
    def sift(hole: int, n: int, held: tuple[Any, int]) -> None:
        top = child = hole
        while child < (n - 1) // 2:
            child = 2 * (child + 1)
            if x[child][0] < x[child - 1][0]:
                child -= 1
            x[hole], hole = x[child], child
        if not n & 1 and child == (n - 2) // 2:
            child = 2 * child + 1
            x[hole], hole = x[child], child
        while hole > top and x[(hole - 1) // 2][0] < held[0]:
            x[hole], hole = x[(hole - 1) // 2], (hole - 1) // 2
        x[hole] = held

    for k in range((len(x) - 2) // 2, -1, -1):
        sift(k, len(x), x[k])
    for last in range(len(x) - 1, 0, -1):
        held, x[last] = x[last], x[0]
        sift(0, last, held)
    return x


def ranked_places(rows: Array, rank: int, kind: int) -> Array:
    """The place of the element of this rank in each row of a matrix (``kind`` 0), or of the median (1; a NaN, if there
    is one), or of the median of what is no NaN (2). NaN is above all numbers; of equal elements the first comes first.
    """
    n = rows.shape[1]
    order = np.argsort(rows, 1, kind="stable")
    if kind:
        numbers = np.count_nonzero(rows == rows, 1, keepdims=True)
        at = (np.maximum(numbers - 1, 0) // 2 if kind == 2
            else np.where(numbers == n, (n - 1) // 2, np.minimum(numbers, n - 1)))
        return order[np.arange(len(rows))[:, None], at][:, 0]  # type: ignore[no-any-return]
    return order[:, rank].copy()  # type: ignore[no-any-return]


def top_places(rows: Array, count: int, least: bool) -> Array:
    """The places of the ``count`` largest (or least) elements of each row of a matrix, in order: NaN above all numbers,
    the first of equal elements first. Of those that equal the last, any may be meant.
    """
    n = rows.shape[1]
    if 8 * count >= n or not count:
        return sorted_places(rows, not least)[:, :count]
    # few of many: part them from the others first, then sort only them
    parts = np.argpartition(rows, count - 1 if least else n - count, 1)
    few = np.sort(parts[:, slice(0, count) if least else slice(n - count, n)], 1)
    return np.take_along_axis(few, sorted_places(np.take_along_axis(rows, few, 1), not least), 1)


def sorted_places(rows: Array, descending: bool) -> Array:
    """The places of the elements of each row of a matrix in order: NaN above all numbers, of equal elements the first
    first.
    """
    if not descending:
        return np.argsort(rows, 1, kind="stable")
    return rows.shape[1] - 1 - np.flip(np.argsort(np.flip(rows, 1), 1, kind="stable"), 1)  # type: ignore[no-any-return]


def search_rows(edges: Array, values: Array, right: bool) -> Array:
    """Where each value of a matrix would go in the row of ``edges`` beside it, or in the only one, which are in order:
    before equal ones, or behind them (``right``). By PyTorch's search, for which nothing is left of NaN.
    """
    n = edges.shape[1]
    low, high = np.zeros(values.shape, np.int64), np.full(values.shape, n, np.int64)
    row = np.arange(len(edges))[:, None]
    while (open_ := low < high).any():
        middle = low + (high - low) // 2
        at = edges[row, np.minimum(middle, n - 1)]
        before = ~(at > values if right else at >= values)
        low, high = np.where(open_ & before, middle + 1, low), np.where(open_ & ~before, middle, high)
    return low


def bags(weight: Array, places: Array, starts: Array, average: bool, factors: Array | None = None,
        skipped: int | None = None) -> Array | None:
    """The sums, or means, of the rows of ``weight`` at the places from each start up to the next, times ``factors``,
    without the row ``skipped``; zeros where there is none. None where a place or a start lies outside.
    """
    ends = np.append(starts[1:], len(places))
    if np.any(ends < starts) or np.any(starts < 0) or np.any((places < 0) | (places >= len(weight))):
        return None
    kind = np.dtype(np.float32) if weight.itemsize == 2 else weight.dtype  # 16 bits are rounded once
    out = np.zeros((len(starts), weight.shape[1]), kind)
    first = starts[0] if len(starts) else 0
    bag, places = np.repeat(np.arange(len(starts)), ends - starts), places[first:]
    rows = weight[places].astype(kind)
    if factors is not None:
        rows *= factors.reshape(-1)[first:, None].astype(kind)
    kept = places != (-1 if skipped is None else skipped)
    np.add.at(out, bag[kept], rows[kept])
    sizes = np.maximum(np.bincount(bag[kept], minlength=len(starts)), 1)[:, None].astype(kind)
    return (out / sizes if average else out).astype(weight.dtype)
