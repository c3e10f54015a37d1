"""Reductions, sorting and counting with several forms: of everything or along a dimension, results by request."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..arrays import dtypes as dt
from ..ops.operator import TABLE
from ..tensor.classes import UNSET
from ..tensor.functions import function
from ..tensor.results import named
from ..tensor.tensor import Tensor
from .overloads import overload
from .places import described

_sum, _sum_dim, _mean, _mean_dim = (function(n) for n in ("sum", "sum_dim", "mean", "mean_dim"))


@overload("torch", "Tensor")
def sum(input: Any, dim: Any = UNSET, keepdim: bool = False, *, dtype: Any = None, **more: Any) -> Tensor:
    """The sum of all elements, or over ``dim`` (an int or several); integers give int64.

    >>> torch.sum(torch.tensor([[1, 2], [3, 4]]), dim=0)
    tensor([4, 6])
    """
    if dim is UNSET and not more:
        return _sum(input, None, keepdim, dtype=dtype)
    return _sum_dim(input, None if dim is UNSET else dim, keepdim, dtype=dtype, **more)


@overload("torch", "Tensor")
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, **more: Any) -> Tensor:
    """The mean of all elements, or over ``dim`` (an int or several), of a floating point or complex tensor.

    >>> torch.mean(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1)
    tensor([1.5000, 3.5000])
    """
    if dim is None and not more:
        return _mean(input, None, keepdim, dtype=dtype)
    return _mean_dim(input, dim, keepdim, dtype=dtype, **more)


def _extreme(name: str, pair: str, doc: str) -> Any:
    along, everything, between = function(name), function(name + "_all"), function(pair)

    def choose(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None, **more: Any) -> Any:
        if isinstance(dim, Tensor):
            dim, other = None, dim
        if other is not None:
            return between(input, other, **more)
        if dim is not None and isinstance(more.get("out"), Tensor):
            raise TypeError(f"{name}() received an invalid combination of arguments - got (Tensor, int, out=Tensor), "
                "but out must be two Tensors")
        return everything(input, **more) if dim is None and "axis" not in more else along(input, dim, keepdim, **more)

    return overload("torch", "Tensor")(described(choose, name, doc))


max = _extreme("max", "maximum", """The largest; with ``dim``, ``(values, indices)``; with a tensor, ``maximum``.

>>> torch.max(torch.tensor([[1, 5], [7, 3]]), dim=1)
torch.return_types.max(
values=tensor([5, 7]),
indices=tensor([1, 0]))
""")
min = _extreme("min", "minimum", "The smallest; with ``dim``, ``(values, indices)``; with a tensor, ``minimum``.")


def _spread(name: str) -> Any:
    primitive = function(name)

    def choose(input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None,
            **more: Any) -> Any:
        if isinstance(dim, bool):  # var(input, unbiased)
            dim, unbiased = None, dim
        if correction is not None and unbiased is not None:
            raise TypeError(f"{name}() received an invalid combination of arguments - got unbiased and correction, of "
                "which one is enough")
        if correction is None:
            correction = 1 if unbiased is None or unbiased else 0
        answer = primitive(input, dim, correction=correction, keepdim=keepdim, **more)
        return tuple(answer) if isinstance(answer, tuple) else answer

    return described(choose, name, f"{_SPREADS[name]} of all elements, or over ``dim``; ``correction`` is taken off "
        "the count (1: unbiased).")


_SPREADS = {
    "var": "The variance", "std": "The standard deviation", "var_mean": "Variance and mean",
    "std_mean": "Standard deviation and mean",
}
var, std = (overload("torch", "Tensor")(_spread(n)) for n in ("var", "std"))
var_mean, std_mean = (overload("torch")(_spread(n)) for n in ("var_mean", "std_mean"))


def _middle(name: str) -> Any:
    along, everything = function(name), function(name + "_all")

    def choose(input: Any, dim: Any = None, keepdim: bool = False, **more: Any) -> Any:
        if input.dtype is dt.bool_:
            raise NotImplementedError("\"median_cpu\" not implemented for 'Bool'")
        return everything(input, **more) if dim is None and "axis" not in more else along(input, dim, keepdim, **more)

    return described(choose, name, "The median of all elements, or ``(values, indices)`` of the medians along ``dim``; "
        "of two middle values the lower." + " NaN does not count." * (name == "nanmedian"))


median, nanmedian = (overload("torch", "Tensor")(_middle(n)) for n in ("median", "nanmedian"))


@overload("torch", "Tensor")
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, **more: Any) -> Tensor:
    """The product of all elements, or over ``dim``; integers give int64.

    >>> torch.prod(torch.tensor([2, 3, 4]))
    tensor(24)
    """
    if dim is None and "axis" not in more:
        return function("prod")(input, dtype=dtype, **more)
    if isinstance(dim, (tuple, list)):
        raise TypeError("prod() received an invalid combination of arguments - got (tuple), but dim must be int")
    return function("prod_dim")(input, dim, keepdim, dtype=dtype, **more)


# -- sorting and counting ---------------------------------------------------------------------------------------------


@overload("torch", "Tensor")
def sort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool | None = None, **more: Any) -> Any:
    """The elements in order along ``dim``, and their places: ``(values, indices)``. Equal elements keep their order.

    >>> torch.sort(torch.tensor([3, 1, 2]))
    torch.return_types.sort(
    values=tensor([1, 2, 3]),
    indices=tensor([1, 2, 0]))
    """
    if isinstance(dim, bool):
        raise TypeError(f"sort() received an invalid combination of arguments - got ({type(input).__name__}, bool)")
    if stable is None:
        return function("sort")(input, dim, descending, **more)
    answer = function("sort_stable")(input, dim, descending, **more)
    kind: Any = TABLE["sort"]
    return named(kind, list(answer))


def _asked(found: Any, inverse: bool, counts: bool) -> Any:
    """The values, with the inverse and the counts on request."""
    row = [found[0], *(found[1:2] if inverse else ()), *(found[2:] if counts else ())]
    return tuple(row) if len(row) > 1 else row[0]


@overload("torch", "Tensor")
def unique(input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
        dim: int | None = None) -> Any:
    """The distinct elements (or slices along ``dim``) in order; on request where each went, and how often it occurs.

    >>> torch.unique(torch.tensor([3, 1, 1]), return_counts=True)
    (tensor([1, 3]), tensor([2, 1]))
    """
    return _asked(function("unique")(input, dim, return_inverse, return_counts), return_inverse, return_counts)


@overload("torch", "Tensor")
def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False,
        dim: int | None = None) -> Any:
    """The elements (or slices along ``dim``) without repetitions of the one before; on request, inverse and counts."""
    found = function("unique_consecutive")(input, dim, return_inverse, return_counts)
    return _asked(found, return_inverse, return_counts)


@overload("torch", "Tensor")
def histogram(input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False,
        **more: Any) -> Any:
    """``(hist, bin_edges)``: the elements counted in ``bins`` equal intervals, or in those between the given edges.

    >>> torch.histogram(torch.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 3.0)).hist
    tensor([2., 1.])
    """
    edges, count = (bins, None) if isinstance(bins, Tensor) else (None, bins)
    return function("histogram")(input, edges, count, range=range, weight=weight, density=density, **more)


@overload("torch")
def histogramdd(input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """``(hist, bin_edges)`` of rows in several dimensions: ``bins`` is a count, a count for each, or a list of edges.

    Shapes: ``input`` is ``(..., n)``; ``hist`` has ``n`` dimensions; ``range`` holds the 2n limits.
    """
    given = isinstance(bins, (list, tuple)) and any(isinstance(b, Tensor) for b in bins)
    hist, *edges = function("histogramdd")(input, list(bins) if given else [], None if given else bins, range=range,
        weight=weight, density=density)
    kind: Any = SimpleNamespace(name="histogramdd", outputs=("hist", "bin_edges"))
    return named(kind, [hist, tuple(edges)])


@overload("torch", "Tensor")
def nonzero(input: Any, *, as_tuple: bool = False, **more: Any) -> Any:
    """The places of the elements that are not zero: rows of ``(count, ndim)``, or one vector for each dimension.

    >>> torch.nonzero(torch.tensor([0, 5, 7]), as_tuple=True)
    (tensor([1, 2]),)
    """
    found = function("nonzero")(input if input.ndim or not as_tuple else input.reshape(1), **more)
    return found.unbind(1) if as_tuple else found
