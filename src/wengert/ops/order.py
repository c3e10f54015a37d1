"""Order statistics: medians, quantiles, the k-th smallest and the most frequent value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.array_likes import as_array, has_memory, in_rows
from ..arrays.reduce import sortable
from .extrema import PICKED, chosen_back, nonempty, ordered, push_shared, shared_by_all
from .operator import Array, family
from .refusals import real
from .views import axis

operator, composite = family("torch", "Tensor")


def _take(input: Any, places: Any, dim: int, keepdim: Any) -> tuple[Any, Any]:
    """``(values, places)`` of one place for each row along ``dim``; ``places`` keeps that dimension."""
    values = K.take_along(input, dim, places)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def _ranked(name: str, input: Any, dim: Any, keepdim: Any, rank: Any) -> tuple[Any, Any]:
    """The element of rank ``rank(sorted, n)`` in each row, and its index."""
    ordered(f"{name}_cpu", input.dtype)
    d = axis(dim, input.ndim)
    if not input.ndim:
        rank(input.reshape(1), 1)
        return input.copy(), np.zeros((), np.int64)
    nonempty(name, input, d)
    n = input.shape[d]
    order = np.argsort(sortable(input), d, kind="stable")
    at = rank(K.take_along(input, d, order), n)
    if not has_memory(at):
        return _take(input, np.take(order, [at], d), d, keepdim)
    return _take(input, np.take_along_axis(order, at, d), d, keepdim)


@operator(grad=dict(input=chosen_back), **(PICKED | dict(places=("torch", "Tensor"))))
def kthvalue(input: Array, k, dim=-1, keepdim=False):
    """The ``k``-th smallest element (from 1) along ``dim`` and its place: ``(values, indices)``."""

    def rank(_: Any, n: int) -> int:
        if not 1 <= k <= n:
            raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis(dim, input.ndim)}")
        return k - 1

    return _ranked("kthvalue", input, dim, keepdim, rank)


def _medians(name: str, skip_nan: bool) -> None:
    def place(row: Any, d: int) -> Any:
        """The rank of the median in rows sorted along ``d``, NaN last."""
        n = row.shape[d]
        if row.dtype.kind not in "fV":
            return (n - 1) // 2
        numbers = np.count_nonzero(row == row, d, keepdims=True)
        if skip_nan:
            return np.maximum(numbers - 1, 0) // 2
        return np.where(numbers == n, (n - 1) // 2, np.minimum(numbers, n - 1))

    @operator(grad=dict(input=chosen_back), name=name, node=f"{name.capitalize()}Backward1", **PICKED)
    def median(input: Array, dim=-1, keepdim=False):
        return _ranked(name, input, dim, keepdim, lambda row, n: place(row, axis(dim, input.ndim)))

    @operator(grad=dict(input=shared_by_all), push=push_shared, name=f"{name}_all",
        node=f"{name.capitalize()}Backward0", places=())
    def median_all(input: Array):
        ordered("median_cpu", input.dtype)
        if not input.size:
            return np.full((), np.nan if input.dtype.kind in "fV" else np.iinfo(input.dtype).min, input.dtype)
        row = np.sort(sortable(input), None).astype(input.dtype, copy=False)
        at = place(row, 0)
        return row[at if isinstance(at, int) else at[0]]


_medians("median", False)
_medians("nanmedian", True)


@operator(grad=dict(input=chosen_back), **(PICKED | dict(places=("torch", "Tensor"))))
def mode(input: Array, dim=-1, keepdim=False):
    """The most frequent value along ``dim`` (of several the smallest) and its last place: ``(values, indices)``."""
    d = axis(dim, input.ndim)
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    nonempty("mode", input, d)
    real("mode_cpu", input)
    n = input.shape[d]
    # which of equal values is meant says PyTorch's way to sort
    if n > 16 or (input.dtype.kind in "fV" and input.size and K.has_nan(input)):
        wide = np.dtype(np.int64 if input.dtype.kind in "biu" else np.float64)
        rows = np.moveaxis(K.cast(input, wide), d, -1)
        places = K.mode_places(in_rows(rows.reshape(-1, n))).reshape(rows.shape[:-1])
        return _take(input, np.expand_dims(places, d), d, keepdim)
    order = np.argsort(sortable(input), d, kind="stable")
    row = K.take_along(input, d, order)
    places = np.arange(n).reshape((-1,) + (1,) * (input.ndim - d - 1))
    new = np.ones(row.shape, bool)
    later, earlier = (tuple(slice(None) for _ in range(d)) + (s,) for s in (slice(1, None), slice(0, -1)))
    new[later] = row[later] != row[earlier]
    start = np.maximum.accumulate(np.where(new, places, 0), d)  # where the run of equal values began
    length = places - start
    longest = np.argmax(length, d, keepdims=True)  # of equal lengths the first, the smallest value
    return _take(input, np.take_along_axis(order, longest, d), d, keepdim)


# -- quantiles ---------------------------------------------------------------------------------------------------------

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


def _quantile(F: Any, name: str, input: Any, q: Any, dim: Any, keepdim: Any, interpolation: str) -> Any:
    q = _checked(F, name, input, q, interpolation)
    ndim, single = input.ndim, not q.ndim
    d = 0 if dim is None else axis(dim, ndim)
    reduced = [] if dim is None or not ndim else [n for i, n in enumerate(input.shape) if i != d]
    if keepdim:
        reduced = [1] * ndim if dim is None else [1 if i == d else n for i, n in enumerate(input.shape)]
    if dim is None:
        rows = F.flatten(input)
    else:
        rows = input if d == ndim - 1 else F.transpose(F.unsqueeze(input, -1), d, -1)
    x = F.sort(rows, -1)[0]
    x = F.view(x, (*reduced, x.shape[-1] if x.ndim else 1))
    numbers, n, kind = F.sum(x == x, -1, True), x.shape[-1], F.dtype_of(x)
    if name == "nanquantile":
        rank = F.reshape(q, (-1,)) * F.cast(numbers - F.cast(numbers > 0, np.dtype(np.int64)), kind)
    else:
        # NaN is sorted last: rows with one give NaN
        rank = F.where(numbers < n, float(n - 1), F.reshape(q, (-1,)) * (n - 1))
    if interpolation in ("lower", "higher", "nearest"):
        rank = {"lower": F.floor, "higher": F.ceil, "nearest": F.round}[interpolation](rank)
    below = F.cast(rank, np.dtype(np.int64))
    values = F.gather(x, -1, below)
    if interpolation in ("linear", "midpoint"):
        weight = (rank - F.cast(below, kind) if interpolation == "linear"
            else F.constant(np.full(tuple(rank.shape), 0.5, kind)))
        above = F.gather(x, -1, F.cast(F.ceil(rank), np.dtype(np.int64)))
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
