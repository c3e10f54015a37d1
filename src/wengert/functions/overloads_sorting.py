"""Sorting and counting with several forms: results by request, counts or edges of bins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..ops.operator import TABLE
from ..tensor.functions import function
from ..tensor.results import named
from ..tensor.tensor import Tensor
from .overloads import overload


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
    return _asked(function("unique")(input, dim), return_inverse, return_counts)


@overload("torch", "Tensor")
def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False,
        dim: int | None = None) -> Any:
    """The elements (or slices along ``dim``) without repetitions of the one before; on request, inverse and counts."""
    return _asked(function("unique_consecutive")(input, dim), return_inverse, return_counts)


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
