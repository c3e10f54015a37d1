"""Sorting, searching, counting and finding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.array_likes import as_array, has_memory, in_rows
from ..arrays.errors import check_countable
from ..arrays.reduce import sortable
from .extrema import PICKED
from .operator import Array, Arrays, family
from .refusals import real
from .views import axis

operator, composite = family("torch", "Tensor")


# -- sorting -----------------------------------------------------------------------------------------------------------


def _order(input: Any, d: int, descending: Any) -> Any:
    """The stable order along ``d``. NaN counts as the largest."""
    input = sortable(input)
    if not descending:
        return np.argsort(input, d, kind="stable")
    n = input.shape[d]
    return n - 1 - np.flip(np.argsort(np.flip(input, d), d, kind="stable"), d)


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


@operator(grad=dict(input=_sort_back), **(PICKED | dict(places=("torch", "Tensor"))))
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
    if input.dtype.kind == "c":
        from .refusals import unsupported

        raise unsupported("topk_cpu", input.dtype)
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)  # also where none is requested
    key = (slice(None),) * d
    if 8 * k >= n or not k or input.dtype.kind == "V":
        order = in_rows(_order(input, d, largest)[(*key, slice(0, k))])
        return K.take_along(input, d, order), order
    # few of many: part them from the others first, then sort only them
    parts = np.argpartition(input, n - k if largest else k - 1, d)
    few = np.sort(parts[(*key, slice(n - k, n) if largest else slice(0, k))], d)
    order = np.take_along_axis(few, _order(np.take_along_axis(input, few, d), d, largest), d)
    return K.take_along(input, d, order), order


# -- distinct values ---------------------------------------------------------------------------------------------------


def _undifferentiable(name: str, along: str) -> Any:
    """The rule of an operator that PyTorch calls ``along`` where it is given a dimension."""

    def rule(F: Any, g: Any, dim: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name if dim is None else along}' is not implemented.")

    return rule


def _distinct(input: Any, dim: Any) -> tuple[Any, Any, Any]:
    if dim is None:
        values, inverse, counts = np.unique(sortable(input), return_inverse=True, return_counts=True, equal_nan=False)
        return values.astype(input.dtype, copy=False), inverse.reshape(input.shape), counts
    d = axis(dim, input.ndim)
    if 0 in input.shape:
        if input.shape.count(0) > 1:
            raise RuntimeError("Number of zero sized dimensions is more than one, so unique cannot be applied ")
        if input.shape[d]:
            raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    values, inverse, counts = np.unique(input, return_inverse=True, return_counts=True, axis=d if input.ndim else None)
    return values, inverse.reshape(-1), counts


def _runs(input: Any, dim: Any) -> tuple[Any, Any, Any]:
    d = None if dim is None else axis(dim, input.ndim)
    rows = (input.reshape(-1, 1) if d is None
        else np.moveaxis(input, d, 0).reshape(input.shape[d], input.size // max(input.shape[d], 1)))
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:] != rows[:-1]).any(1)
    starts = np.flatnonzero(new)
    inverse = np.cumsum(new) - 1
    counts = np.diff(np.append(starts, len(rows)))
    if d is None:
        return input.reshape(-1)[starts], inverse.reshape(input.shape), counts
    return np.take(input, starts, d), inverse, counts


for _name, _node, _find in (
    ("unique", "Unique2Backward0", _distinct),
    ("unique_consecutive", "UniqueConsecutiveBackward0", _runs),
):

    def _declare(name: str, node: str, find: Any) -> None:
        @operator(
            grad=dict(input=_undifferentiable(*(("_unique2", "unique_dim") if name == "unique" else (name, name)))),
            outputs=("output", "inverse_indices", "counts"), nondifferentiable=("inverse_indices", "counts"), name=name,
            node=node, places=(),
        )
        def unique(input: Array, dim=None):
            if input.dtype.kind == "c":
                raise NotImplementedError(f"\"{name}\" not implemented for '{dt.scalar_name(input.dtype)}'")
            return find(input, dim)

    _declare(_name, _node, _find)


# -- counting ----------------------------------------------------------------------------------------------------------


@operator()
def bincount(input: Array, weights: Array | None = None, minlength=0):
    """How often each of 0, 1, 2 … occurs in ``input`` (one dimension), or the sums of its ``weights``.

    >>> torch.bincount(torch.tensor([1, 1, 3]))
    tensor([0, 2, 0, 1])
    """
    from .refusals import unsupported

    if input.dtype.kind not in "iu":
        raise unsupported("bincount_cpu", input.dtype)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if input.ndim != 1 or (input.size and input.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    check_countable(max(minlength, int(input.max()) + 1 if input.size else 0))
    if weights is None or not input.size:
        return np.bincount(input, minlength=minlength)
    if weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    counts = np.bincount(input, weights.astype(np.float64), minlength)
    return counts.astype(np.float32) if weights.dtype == np.float32 else counts


def _bounds(name: str, input: Any, low: float, high: float) -> tuple[float, float]:
    """The range of a histogram: that of the data where none is given."""
    if low == high and input.size:
        low, high = float(input.min()), float(input.max())
    if low == high:
        low, high = low - 0.5 if name == "histogram" else low - 1, high + 0.5 if name == "histogram" else high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.{name}: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"torch.{name}: max must be larger than min")
    return low, high


def _floats(input: Any, kernel: str) -> None:
    if input.dtype.kind not in "fV":
        from .refusals import unsupported

        raise unsupported(kernel, input.dtype)


@operator()
def histc(input: Array, bins=100, min=0, max=0):
    """Counts of the elements in ``bins`` equal intervals of ``[min, max]``; both 0: of the range of the data."""
    _floats(input, "histogram_cpu")
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = _bounds("histc", input, min, max)
    return np.histogram(input, bins, (low, high))[0].astype(input.dtype)


def _edges(input: Any, bins: Any, range: Any, d: int) -> Any:
    if has_memory(bins):
        if bins.ndim != 1 or not len(bins):
            raise RuntimeError("torch.histogramdd(): bins tensor should have one dimension")
        if bins.dtype != input.dtype:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
                f"{dt.c_name(input.dtype)} and bins for dimension {d} with dtype {dt.c_name(bins.dtype)}"
            )
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
    rows, edges = rows.astype(dt.F64), [e.astype(dt.F64) for e in edges]
    shape = tuple(len(e) - 1 for e in edges)
    inside = np.ones(len(rows), bool)
    for column, e in zip(rows.T, edges):
        inside &= (column >= e[0]) & (column <= e[-1])
    if not all(shape):
        return np.zeros(shape, d)
    at = [(np.searchsorted(e, column, "right") - 1).clip(0, len(e) - 2) for column, e in zip(rows[inside].T, edges)]
    flat = np.ravel_multi_index(tuple(at), shape)
    hist = np.bincount(flat, None if weights is None else weights[inside].astype(dt.F64),
        math.prod(shape)).reshape(shape).astype(dt.F64)
    if density:
        hist /= hist.sum()
        for axis, e in enumerate(edges):
            hist /= np.diff(e).reshape(-1, *(1,) * (len(shape) - axis - 1))
    return hist.astype(d)


@operator(outputs=("hist", "bin_edges"), places=())
def histogram(input: Array, bins: Array | None = None, count=None, *, range=None, weight: Array | None = None,
        density=False):
    """Counts between edges, given or spread evenly."""
    _floats(input, "histogramdd")
    if weight is not None and weight.shape != input.shape:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {[input.size, 1]} and weight with shape "
            f"{list(weight.shape)}"
        )
    if weight is not None and weight.dtype != input.dtype:
        names = [{"float32": "float", "float64": "double", "int32": "int"}.get(d.name, d.name)
            for d in (input.dtype, weight.dtype)]
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({names[0]}), and weight({names[1]})"
        )
    edges = _edges(input.reshape(-1), count if bins is None else bins, range, 0)
    if bins is None:
        hist = np.histogram(input, edges, weights=weight, density=density)[0].astype(input.dtype)
    else:
        hist = _counted(input.reshape(-1, 1), [edges], None if weight is None else weight.reshape(-1), density)
    return hist, in_rows(edges)


@operator(places=())
def histogramdd(input: Array, bins: Arrays, counts=None, *, range=None, weight: Array | None = None, density=False):
    """The counts, then the edges for each column."""
    _floats(input, "histogramdd")
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


histogramdd.outputs = ...  # as many as there are columns, and one


# -- searching ---------------------------------------------------------------------------------------------------------


def _side(right: Any, side: Any) -> str:
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while "
            "right was True")
    return "right" if right or side == "right" else "left"


@operator(scalars=("input",), places=("torch",))
def searchsorted(sorted_sequence: Array, input: Array, *, out_int32=False, right=False, side=None,
        sorter: Array | None = None):
    """Where ``input`` (any shape, or rows that match those of ``sorted_sequence``) would go in order; int64.

    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
    tensor([1, 3])
    """
    edges, values = (sortable(real("searchsorted_out_cpu", x)) for x in (sorted_sequence, as_array(input)))
    where: Any = _side(right, side)
    if not edges.ndim:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 "
            "dimension")
    if edges.ndim != 1 and edges.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            "tensor and input "
            f"value tensor must match, but we got boundaries tensor {list(edges.shape)} and input value tensor "
            f"{list(values.shape)}"
        )
    if sorter is not None:
        if sorter.shape != edges.shape:
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(edges.shape)}and got sorter tensor {list(sorter.shape)}"
            )
        if sorter.size and not (0 <= sorter.min() and sorter.max() < edges.shape[-1]):
            raise RuntimeError("torch.searchsorted(): sorter index out of range")
        edges = np.take_along_axis(edges, sorter, -1)
    if edges.ndim == 1:
        found = _places(edges, values, where)
    else:
        found = np.empty(values.shape, np.int64)
        for at in np.ndindex(edges.shape[:-1]):
            found[at] = _places(edges[at], values[at], where)
    return found.astype(np.int32) if out_int32 else found.astype(np.int64, copy=False)


def _places(edges: Any, values: Any, where: Any) -> Any:
    """Where ``values`` go among ``edges``; where there are NaN by PyTorch's binary search: nothing is left of them."""
    if edges.dtype.kind != "f" or not (np.isnan(edges).any() or np.isnan(values).any()):
        return as_array(np.searchsorted(edges, values, where))
    low, high = np.zeros(values.shape, np.int64), np.full(values.shape, edges.size, np.int64)
    while (open_ := low < high).any():
        middle = low + (high - low) // 2
        at = edges[np.minimum(middle, edges.size - 1)]
        right = ~(at > values if where == "right" else at >= values)
        low, high = np.where(open_ & right, middle + 1, low), np.where(open_ & ~right, middle, high)
    return low


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
        d = getattr(x, "dtype", np.dtype(np.int64))
        if d.kind in "bc":
            raise RuntimeError(f"Unsupported input type encountered for isin(): {dt.scalar_name(d)}")
    return np.isin(elements, test_elements, assume_unique=assume_unique, invert=invert)


# -- finding -----------------------------------------------------------------------------------------------------------


@operator(places=())
def nonzero(input: Array):
    """The places of all elements that are not zero, one a row."""
    if not input.ndim:
        return np.empty((int(bool(input)), 0), np.int64)
    return np.argwhere(input)


@composite(by_example=True)
def argwhere(F, input):
    """The places of all elements that are not zero, one a row: ``(count, ndim)``, int64."""
    return F.nonzero(input)
