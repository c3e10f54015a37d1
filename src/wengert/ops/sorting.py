"""Sorting, order statistics, distinct values, counting, searching and finding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import as_array, has_memory, in_rows, new_filled
from ..arrays.errors import check_countable
from ..arrays.reduce import sortable
from .loss import Bits
from .operator import Array, Arrays, family
from .pairs import lerp_tensor
from .pointwise import no_derivative
from .reduce import PICKED, chosen_back, nonempty, ordered, push_shared, shared_by_all
from .refusals import floating, only, real, unsupported
from .views import axis, unseen

operator, composite = family("torch", "Tensor")
_picked: dict[str, Any] = PICKED | dict(places=("torch", "Tensor"))


# -- sorting -----------------------------------------------------------------------------------------------------------


def _order(input: Any, d: int, descending: Any) -> Any:
    """The stable order along ``d``. NaN counts as the largest."""
    order = K.sorted_places(_as_rows(input, d), bool(descending))
    if d == input.ndim - 1:
        return order.reshape(input.shape)
    return in_rows(_turned(order.reshape(*input.shape[:d], *input.shape[d + 1 :], input.shape[d]), -1, d))


def _rows(input: Any, dim: Any, descending: Any) -> tuple[Any, Any]:
    d = axis(dim, input.ndim)
    if input.dtype.kind == "c":
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    order = _order(input, d, descending)
    return K.take_along(input, d, order), order


def _sort_back(F: Any, g: Any, indices: Any, input_shape: Any, dim: Any) -> Any:
    return F.scattered(g, dim, indices, input_shape, True) if input_shape else g


# The order is always stable; PyTorch names the node after whether that was requested.
for _name, _node in (("sort", "SortBackward0"), ("sort_stable", "SortBackward1")):

    @operator(grad=dict(input=_sort_back), name=_name, node=_node, layout="elementwise", **PICKED)
    def sort(input: Array, dim=-1, descending=False):
        """The elements in order along ``dim`` and their places."""
        return _rows(input, dim, descending)


@operator(layout="elementwise")
def argsort(input: Array, dim=-1, descending=False, stable=False):
    """The places of the elements in sorted order along ``dim``; int64."""
    return _rows(input, dim, descending)[1]


@composite
def msort(F, input):
    """The rows sorted: ``sort`` along the first dimension."""
    return F.sort(input, 0)[0]


@operator(grad=dict(input=_sort_back), **_picked)
def topk(input: Array, k, dim=-1, largest=True, sorted=True):
    """The ``k`` largest (or smallest) elements along ``dim`` in order, and their places: ``(values, indices)``.

    >>> torch.topk(torch.tensor([3, 1, 2]), 2)
    torch.return_types.topk(
    values=tensor([3, 2]),
    indices=tensor([0, 2]))
    """
    if input.dtype.kind == "c":
        raise RuntimeError(" topk does not support complex dtypes on CPU")
    d = axis(dim, input.ndim)
    n = input.shape[d] if input.ndim else 1
    if not 0 <= k <= n:
        raise RuntimeError("selected index k out of range")
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)  # also where none is requested
    rows = _as_rows(input, d)
    order = K.top_places(rows, k, not largest) if k <= 64 else K.sorted_places(rows, largest)[:, :k]
    order = order.reshape(*input.shape[:d], *input.shape[d + 1 :], k)
    order = in_rows(_turned(order, -1, d))
    return K.take_along(input, d, order), order


def _as_rows(input: Any, d: int) -> Any:
    """What lies along ``d`` as the rows of a matrix that can be sorted."""
    rows = sortable(input)
    n = input.shape[d]
    return in_rows(_turned(rows, d, -1)).reshape(input.size // n if n else 0, n)


def _turned(a: Any, start: int, end: int) -> Any:
    """``np.moveaxis``; of the last two axes one exchange, which takes fewer steps."""
    between = start % a.ndim - end % a.ndim
    return a if not between else a.swapaxes(start, end) if abs(between) == 1 else np.moveaxis(a, start, end)


# -- order statistics --------------------------------------------------------------------------------------------------


def _take(input: Any, places: Any, dim: int, keepdim: Any) -> tuple[Any, Any]:
    """``(values, places)`` of one place for each row along ``dim``; ``places`` keeps that dimension."""
    values = K.take_along(input, dim, places)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def _ranked(name: str, input: Any, dim: Any, keepdim: Any, kind: int, k: int = 1) -> tuple[Any, Any]:
    """The ``k``-th element, or the median (``kind``: see ``K.ranked_places``), of each row along ``dim``; its place."""
    ordered(f"{name}_cpu", input.dtype)
    d = axis(dim, input.ndim)
    if input.ndim:
        nonempty(name, input, d)
    if not 1 <= k <= (input.shape[d] if input.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    places = K.ranked_places(_as_rows(input, d), k - 1, kind)
    return _take(input, places.reshape(*input.shape[:d], 1, *input.shape[d + 1 :]), d, keepdim)


@operator(grad=dict(input=chosen_back), **_picked)
def kthvalue(input: Array, k, dim=-1, keepdim=False):
    """The ``k``-th smallest element (from 1) along ``dim`` and its place: ``(values, indices)``."""
    return _ranked("kthvalue", input, dim, keepdim, 0, k)


def _medians(name: str, kind: int) -> None:
    @operator(grad=dict(input=chosen_back), name=name, node=f"{name.capitalize()}Backward1", **PICKED)
    def median(input: Array, dim=-1, keepdim=False):
        return _ranked(name, input, dim, keepdim, kind)

    @operator(grad=dict(input=shared_by_all), push=push_shared, name=f"{name}_all",
        node=f"{name.capitalize()}Backward0", places=())
    def median_all(input: Array):
        ordered("median_cpu", input.dtype)
        if not input.size:
            return np.full((), np.nan if input.dtype.kind in "fV" else np.iinfo(input.dtype).min, input.dtype)
        row = input.reshape(-1)
        return row[K.ranked_places(_as_rows(row, 0), 0, kind)[0]]


_medians("median", 1)
_medians("nanmedian", 2)


@operator(grad=dict(input=chosen_back), **_picked)
def mode(input: Array, dim=-1, keepdim=False):
    """The most frequent value along ``dim`` (of several the smallest) and its last place: ``(values, indices)``."""
    d = axis(dim, input.ndim)
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    nonempty("mode", input, d)
    real("mode_cpu", input)
    rows, n = _turned(input, d, -1), input.shape[d]
    native = K.available and type(input) is np.ndarray
    # which of equal values is meant says PyTorch's way to sort, which leaves those of up to 16 in order
    if native or n > 16 or (input.dtype.kind in "fV" and input.size and K.has_nan(input)):
        wide = np.dtype(np.int64 if input.dtype.kind in "biu" else np.float64)
        rows = rows if input.dtype is wide else K.cast(rows, wide)
        places = K.mode_places(in_rows(rows).reshape(-1, n))
    else:
        order = np.argsort(sortable(rows), -1, kind="stable")
        row = np.take_along_axis(rows, order, -1)
        new = np.ones(row.shape, bool)
        new[..., 1:] = row[..., 1:] != row[..., :-1]
        start = np.maximum.accumulate(np.where(new, np.arange(n), 0), -1)  # where the run of equal values began
        longest = np.argmax(np.arange(n) - start, -1, keepdims=True)  # of equal lengths the first, the smallest value
        places = np.take_along_axis(order, longest, -1)
    return _take(input, places.reshape(*input.shape[:d], 1, *input.shape[d + 1 :]), d, keepdim)


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _checked(F: Any, name: str, input: Any, q: Any, interpolation: str) -> Any:
    d = F.dtype_of(input)
    if not isinstance(q, (int, float)):
        if q.ndim > 1:
            raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
        if F.dtype_of(q) != d:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if 0 in input.shape:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if d.name not in ("float32", "float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}")
    if isinstance(q, (int, float)):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        return F.constant(as_array(q, d))
    if not F.every((q >= 0) & (q <= 1)):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    return q


_STEPS = {"lower": "floor", "higher": "ceil", "nearest": "round"}


def _at_quantile_back(F: Any, g: Any, input_shape: Any, q: Any, low: Any, high: Any, weight: Any) -> Any:
    g, places, w = g if has_memory(q) else F.unsqueeze(g, -1), F.constant(low.cell_contents), weight.cell_contents
    exact = low.cell_contents.shape[-1] == 1  # else a place may be asked for several times
    if high is None:
        return F.scattered(g, -1, places, input_shape, exact)
    below = F.scattered(g * F.constant(1 - w), -1, places, input_shape, exact)
    return below + F.scattered(g * F.constant(w), -1, F.constant(high.cell_contents), input_shape, exact)


@operator(grad=dict(input=_at_quantile_back), aux=("low", "high", "weight"), places=())
def at_quantile(input: Array, q, skips, interpolation):
    """The ``q``-th quantile of rows that are in order; ``skips``: of what is not NaN, which comes last.

    ``q``: a number, or an array of several, for each of which there is a column.
    """
    n, kind, single = input.shape[-1], input.dtype, not has_memory(q)
    q = kind.type(q) if single else q
    if np.isnan(input[..., -1]).any():
        numbers = (input == input).sum(-1, keepdims=True)
        rank = q * np.maximum(numbers - 1, 0).astype(kind)
        rank = rank if skips else np.where(numbers < n, kind.type(n - 1), rank)
    else:
        rank = new_filled(input, np.ones, (*input.shape[:-1], 1), kind) * (q * kind.type(n - 1))
    if interpolation in _STEPS:
        rank = getattr(np, _STEPS[interpolation])(rank)
    low = rank.astype(np.int64)
    values = K.take_along(input, -1, low)
    if interpolation in _STEPS:
        return values[..., 0] if single else values, Bits(low), None, Bits(rank)
    weight = rank - low if interpolation == "linear" else np.full_like(rank, 0.5)
    weight, high = weight.astype(kind, copy=False), np.ceil(rank).astype(np.int64)
    values = lerp_tensor.forward(values, K.take_along(input, -1, high), weight)
    return values[..., 0] if single else values, Bits(low), Bits(high), Bits(weight)


def _quantile(F: Any, name: str, input: Any, q: Any, dim: Any, keepdim: Any, interpolation: str) -> Any:
    number = q if isinstance(q, (int, float)) else None
    q = _checked(F, name, input, q, interpolation)
    ndim, single = input.ndim, not q.ndim
    d = 0 if dim is None else axis(dim, ndim)
    reduced = [] if dim is None or not ndim else [n for i, n in enumerate(input.shape) if i != d]
    if keepdim:
        reduced = [1] * ndim if dim is None else [1 if i == d else n for i, n in enumerate(input.shape)]
    rows = (F.flatten(input) if dim is None else input if d == ndim - 1
        else F.transpose(F.unsqueeze(input, -1), d, -1))
    x = F.sort(rows, -1)[0]
    x = F.view(x, (*reduced, x.shape[-1] if x.ndim else 1))
    if number is not None:
        return F.at_quantile(x, number, name == "nanquantile", interpolation)
    if not F.raw and unseen(F, q) and has_memory(q._wg_data) and not hasattr(q, "level"):
        values = F.at_quantile(x, q._wg_data.reshape(-1), name == "nanquantile", interpolation)
        return F.squeeze(values if single else F.transpose(F.unsqueeze(values, 0), 0, -1), -1)
    numbers, n, kind = F.sum(x == x, -1, True), x.shape[-1], F.dtype_of(x)
    if name == "nanquantile":
        rank = F.reshape(q, (-1,)) * F.cast(numbers - F.cast(numbers > 0, dt.I64), kind)
    else:  # NaN is sorted last: rows with one give NaN
        rank = F.where(numbers < n, float(n - 1), F.reshape(q, (-1,)) * F.cast(numbers - 1, kind))
    if interpolation in _STEPS:
        rank = getattr(F, _STEPS[interpolation])(rank)
    below = F.cast(rank, dt.I64)
    values = F.gather(x, -1, below)
    if interpolation in ("linear", "midpoint"):
        weight = (rank - F.cast(below, kind) if interpolation == "linear"
            else F.constant(np.full(tuple(rank.shape), 0.5, kind)))
        above = F.gather(x, -1, F.cast(F.ceil(rank), dt.I64))
        values = F.lerp_tensor(values, above, weight)
    if not single:
        values = F.transpose(F.unsqueeze(values, 0), 0, -1)
    return F.squeeze(values, -1)


@composite
def quantile(F, input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The ``q``-th quantiles (in [0, 1], a number or a vector) of everything or along ``dim``; NaN where a row has one.

    >>> torch.quantile(torch.tensor([1.0, 2.0, 4.0]), 0.75)
    tensor(3.)
    """
    return _quantile(F, "quantile", input, q, dim, keepdim, interpolation)


@composite
def nanquantile(F, input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """``quantile`` of what is not NaN."""
    return _quantile(F, "nanquantile", input, q, dim, keepdim, interpolation)


# -- distinct values ---------------------------------------------------------------------------------------------------


def _distinct(input: Any, dim: Any, inverse: bool, counts: bool) -> tuple[Any, Any, Any]:
    if dim is None and type(input) is not np.ndarray:
        values, places, many = np.unique(sortable(input), return_inverse=True, return_counts=True, equal_nan=False)
        return values.astype(input.dtype, copy=False), places.reshape(input.shape), many
    if dim is None and input.dtype.kind in "iu" and (found := _distinct_among_few(input, inverse, counts)) is not None:
        return found
    if dim is None:
        flat, none = sortable(input).reshape(-1), np.zeros(0, np.int64)
        order = flat.argsort() if inverse else None
        rows = np.sort(flat) if order is None else flat[order]
        values, places, many = _runs(rows, None, inverse, counts)
        if order is not None:
            found = np.empty_like(places)
            found[order] = places
            places = found.reshape(input.shape)
        return values.astype(input.dtype, copy=False), places if inverse else none, many
    d = axis(dim, input.ndim)
    if 0 in input.shape:
        if input.shape.count(0) > 1:
            raise RuntimeError("Number of zero sized dimensions is more than one, so unique cannot be applied ")
        if input.shape[d]:
            raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    values, places, many = np.unique(input, return_inverse=True, return_counts=True, axis=d if input.ndim else None)
    return values, places.reshape(-1), many


_WORTH_COUNTING = 512


def _distinct_among_few(input: Any, inverse: bool, counts: bool) -> tuple[Any, Any, Any] | None:
    """Whole numbers that lie close to each other are counted, not sorted; None of others."""
    if input.size < _WORTH_COUNTING:
        return None
    least, most, none = int(input.min()), int(input.max()), np.zeros(0, np.int64)
    if most - least > 2 * input.size or most > np.iinfo(np.int64).max:
        return None
    flat = input.reshape(-1).astype(np.int64) - least
    many = np.bincount(flat)
    values = np.flatnonzero(many)
    places = (np.cumsum(many > 0) - 1)[flat].reshape(input.shape) if inverse else none
    return (values + least).astype(input.dtype), places, many[values] if counts else none


def _runs(input: Any, dim: Any, inverse: bool, counts: bool) -> tuple[Any, Any, Any]:
    d, none = None if dim is None else axis(dim, input.ndim), np.zeros(0, np.int64)
    rows = (input.reshape(-1) if d is None
        else np.moveaxis(input, d, 0).reshape(input.shape[d], input.size // max(input.shape[d], 1)))
    new = np.ones(len(rows), bool)
    if d is None:
        new[1:] = rows[1:] != rows[:-1]
    else:
        new[1:] = (rows[1:] != rows[:-1]).any(1)
    places = np.cumsum(new) - 1 if inverse else none
    starts = np.flatnonzero(new) if counts or d is not None else none
    many = none
    if counts and len(starts):
        many = np.empty_like(starts)
        np.subtract(starts[1:], starts[:-1], many[:-1])
        many[-1] = len(rows) - starts[-1]
    if d is None:
        return rows[starts if counts else new], places.reshape(input.shape) if inverse else none, many
    return np.take(input, starts, d), places, many


def _distinct_values(name: str, node: str, find: Any, label: str, along: str) -> None:
    """Declare an operator that PyTorch calls ``label``, or ``along`` where it is given a dimension."""

    def rule(F: Any, g: Any, dim: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{label if dim is None else along}' is not implemented.")

    @operator(grad=dict(input=rule), name=name, node=node, places=(), outputs=("output", "inverse_indices", "counts"),
        nondifferentiable=("inverse_indices", "counts"))
    def unique(input: Array, dim=None, return_inverse=True, return_counts=True):
        if input.dtype.kind == "c":
            raise unsupported(name, input.dtype)
        return find(input, dim, return_inverse, return_counts)


_distinct_values("unique", "Unique2Backward0", _distinct, "_unique2", "unique_dim")
_distinct_values("unique_consecutive", "UniqueConsecutiveBackward0", _runs, "unique_consecutive", "unique_consecutive")


# -- counting ----------------------------------------------------------------------------------------------------------


_FEW_COUNTS = 1 << 20


@operator(grad=dict(weights=no_derivative("bincount")), node="NotImplemented")
def bincount(input: Array, weights: Array | None = None, minlength=0):
    """How often each of 0, 1, 2 … occurs in ``input`` (one dimension), or the sums of its ``weights``.

    >>> torch.bincount(torch.tensor([1, 1, 3]))
    tensor([0, 2, 0, 1])
    """
    only("iu", "bincount_cpu", input)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if input.ndim != 1 or minlength > _FEW_COUNTS or not K.within(input, 0, _FEW_COUNTS):  # else all is well
        if input.ndim != 1 or (input.size and input.min() < 0):
            raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
        check_countable(max(minlength, int(input.max()) + 1 if input.size else 0))
    if weights is None or not input.size:
        return np.bincount(input, minlength=minlength)
    if weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    counts = np.bincount(input, weights.astype(np.float64), minlength)
    return counts.astype(np.float32) if weights.dtype == np.float32 else counts


@operator()
def histc(input: Array, bins=100, min=0, max=0):
    """Counts of the elements in ``bins`` equal intervals of ``[min, max]``; both 0: of the range of the data."""
    floating("histogram_cpu", input)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = (float(input.min()), float(input.max())) if min == max and input.size else (min, max)
    if low == high:
        low, high = low - 1, high + 1
    if not np.isfinite([low, high]).all():
        raise RuntimeError(f"torch.histc: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    low, high, many = (input.dtype.type(v) for v in (low, high, bins))
    inside = input[(input >= low) & (input <= high)]
    at = ((inside - low) * many / (high - low)).astype(np.int64)
    return np.bincount(np.minimum(at, bins - 1), minlength=bins).astype(input.dtype)


def _edges(input: Any, bins: Any, range: Any, d: int) -> Any:
    if has_memory(bins):
        if bins.ndim != 1 or not len(bins):
            raise RuntimeError("torch.histogramdd(): bins tensor should have one dimension")
        if bins.dtype != input.dtype:
            raise RuntimeError("torch.histogramdd: input tensor and bins tensors should have the same dtype, but got "
                f"input with dtype {dt.c_name(input.dtype)} and bins for dimension {d} with dtype "
                f"{dt.c_name(bins.dtype)}")
        return bins
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension {d}")
    low, high = range if range is not None else (float(input.min()), float(input.max())) if input.size else (0.0, 1.0)
    if not np.isfinite([low, high]).all():
        raise RuntimeError(f"torch.histogramdd: dimension {d}'s range [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for "
            f"dimension {d}")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, int(bins) + 1, dtype=input.dtype)


def _counted(rows: Any, edges: list[Any], weights: Any, density: bool) -> Any:
    """How many rows fall between the given edges, which need not be sorted: as in PyTorch, a binary search finds some
    place then.
    """
    d = rows.dtype
    shape = tuple(len(e) - 1 for e in edges)
    inside = np.ones(len(rows), bool)
    for column, e in zip(rows.T, edges):
        inside &= (column >= e[0]) & (column <= e[-1])
    if not all(shape):
        return np.zeros(shape, d)
    at = [(K.search_rows(in_rows(e)[None], in_rows(column)[None], True)[0] - 1).clip(0, len(e) - 2)
        for column, e in zip(rows[inside].T, edges)]
    flat = np.ravel_multi_index(tuple(at), shape) if len(at) > 1 else at[0]
    hist = np.bincount(flat, None if weights is None else weights[inside].astype(dt.F64),
        math.prod(shape)).reshape(shape).astype(dt.F64)
    if density:
        hist /= hist.sum()
        for axis, e in enumerate(edges):
            hist /= np.diff(e).reshape(-1, *(1,) * (len(shape) - axis - 1))
    return hist.astype(d)


@operator(grad=dict(input=no_derivative("histogram"), weight=no_derivative("histogram")), node="NotImplemented",
    outputs=("hist", "bin_edges"), places=())
def histogram(input: Array, bins: Array | None = None, count=None, *, range=None, weight: Array | None = None,
        density=False):
    """Counts between edges, given or spread evenly."""
    floating("histogramdd", input)
    if weight is not None and weight.shape != input.shape:
        raise RuntimeError("torch.histogramdd: if weight tensor is provided it should have the same shape as the input "
            f"tensor excluding its innermost dimension, but got input with shape {[input.size, 1]} and weight with "
            f"shape {list(weight.shape)}")
    if weight is not None and weight.dtype != input.dtype:
        raise RuntimeError("torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should "
            f"have the same dtype, but got input({dt.c_name(input.dtype)}), and weight({dt.c_name(weight.dtype)})")
    edges = _edges(input.reshape(-1), count if bins is None else bins, range, 0)
    hist = _counted(input.reshape(-1, 1), [edges], None if weight is None else weight.reshape(-1), density)
    return hist, in_rows(edges)


def _no_counts(F: Any, g: Any, counts: Any) -> Any:
    no_derivative("_histogramdd_from_bin_" + ("tensors" if counts is None else "cts"))(F, g)


@operator(grad=dict(input=_no_counts, weight=_no_counts), node="NotImplemented", places=(),
    outputs=...)  # as many as there are columns, and one
def histogramdd(input: Array, bins: Arrays, counts=None, *, range=None, weight: Array | None = None, density=False):
    """The counts, then the edges for each column."""
    floating("histogramdd", input)
    rows = input.reshape(-1, input.shape[-1])
    n = rows.shape[1]
    if counts is not None:
        bins = [counts] * n if isinstance(counts, int) else counts  # type: ignore[list-item]
    if len(bins) != n:
        if counts is not None:
            raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
        raise RuntimeError(f"torch.histogramdd: expected {n} sequences of bin edges for a {n}-dimensional histogram "
            f"but got {len(bins)}")
    edges = [_edges(rows[:, i], b, None if range is None else range[2 * i : 2 * i + 2], i) for i, b in enumerate(bins)]
    weights = None if weight is None else weight.reshape(-1)
    if counts is None:
        return [_counted(rows, edges, weights, density), *edges]
    return [np.histogramdd(rows, edges, weights=weights, density=density)[0].astype(input.dtype), *edges]


# -- searching and finding ---------------------------------------------------------------------------------------------


@operator(scalars=("input",), places=("torch",))
def searchsorted(sorted_sequence: Array, input: Array, *, out_int32=False, right=False, side=None,
        sorter: Array | None = None):
    """Where ``input`` (any shape, or rows that match those of ``sorted_sequence``) would go in order; int64.

    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
    tensor([1, 3])
    """
    edges, values = (sortable(real("searchsorted_out_cpu", x)) for x in (sorted_sequence, as_array(input)))
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while "
            "right was True")
    if not edges.ndim:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 "
            "dimension")
    if edges.ndim != 1 and edges.shape[:-1] != values.shape[:-1]:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions "
            f"of boundaries tensor and input value tensor must match, but we got boundaries tensor {list(edges.shape)} "
            f"and input value tensor {list(values.shape)}")
    if sorter is not None:
        if sorter.shape != edges.shape:
            raise RuntimeError("torch.searchsorted(): boundary and sorter must have the same size, but got boundary "
                f"tensor {list(edges.shape)}and got sorter tensor {list(sorter.shape)}")
        if not K.within(sorter, 0, edges.shape[-1] - 1):
            raise RuntimeError("torch.searchsorted(): sorter index out of range")
        edges = np.take_along_axis(edges, sorter, -1)
    lines, each = (1, values.size) if edges.ndim == 1 else (math.prod(edges.shape[:-1]), values.shape[-1])
    edges, found = in_rows(edges).reshape(lines, edges.shape[-1]), in_rows(values).reshape(lines, each)
    found = K.search_rows(edges, found, right or side == "right").reshape(values.shape)
    return found.astype(np.int32) if out_int32 else found


@operator(scalars=("input",), places=("torch",))
def bucketize(input: Array, boundaries: Array, *, out_int32=False, right=False):
    """The number of the interval between ``boundaries`` (one dimension, ascending) that each element lies in; int64."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted.forward(boundaries, input, out_int32=out_int32, right=right)


@operator(scalars="one", places=("torch",))
def isin(elements: Array, test_elements: Array, *, assume_unique=False, invert=False):
    """Which elements occur in ``test_elements``.

    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 4]))
    tensor([False,  True, False])
    """
    for x in (elements, test_elements):
        d = getattr(x, "dtype", dt.I64)
        if d.kind in "bc":
            raise RuntimeError(f"Unsupported input type encountered for isin(): {dt.scalar_name(d)}")
    few = getattr(elements, "size", 1) * getattr(test_elements, "size", 1) <= _FEW_PAIRS
    if few and type(elements) is type(test_elements) is np.ndarray and elements.dtype == test_elements.dtype:
        found = np.logical_or.reduce(elements[..., None] == test_elements.reshape(-1), -1)
        return np.logical_not(found) if invert else found
    return np.isin(elements, test_elements, assume_unique=assume_unique, invert=invert)


_FEW_PAIRS = 1 << 12  # so many comparisons take less than sorting


@operator(places=())
def nonzero(input: Array):
    """The places of all elements that are not zero, one a row."""
    return np.argwhere(input) if input.ndim else np.empty((int(bool(input)), 0), np.int64)


@composite(by_example=True)
def argwhere(F, input):
    """The places of all elements that are not zero, one a row: ``(count, ndim)``, int64."""
    return F.nonzero(input)
