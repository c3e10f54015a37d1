"""Reductions with several forms: of everything or along a dimension, with places, between two tensors."""

from __future__ import annotations

from typing import Any

from ..arrays import dtypes as dt
from ..tensor.classes import UNSET
from ..tensor.functions import function
from ..tensor.tensor import Tensor
from .overloads import overload

_sum, _sum_dim, _mean, _mean_dim = (function(n) for n in ("sum", "sum_dim", "mean", "mean_dim"))


@overload("torch", "Tensor")
def sum(input: Any, dim: Any = UNSET, keepdim: bool = False, *, dtype: Any = None, **more: Any) -> Any:
    """The sum of all elements, or over ``dim`` (an int or several); integers give int64.

    >>> torch.sum(torch.tensor([[1, 2], [3, 4]]), dim=0)
    tensor([4, 6])
    """
    if dim is UNSET and not more:
        return _sum(input, None, keepdim, dtype=dtype)
    return _sum_dim(input, None if dim is UNSET else dim, keepdim, dtype=dtype, **more)


@overload("torch", "Tensor")
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, **more: Any) -> Any:
    """The mean of all elements, or over ``dim`` (an int or several), of a floating point or complex tensor.

    >>> torch.mean(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1)
    tensor([1.5000, 3.5000])
    """
    if dim is None and not more:
        return _mean(input, None, keepdim, dtype=dtype)
    return _mean_dim(input, dim, keepdim, dtype=dtype, **more)


def _extreme(name: str, pair: str) -> Any:
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

    choose.__name__ = name
    return choose


max = overload("torch", "Tensor")(_extreme("max", "maximum"))
max.__doc__ = """The largest element; with ``dim``, ``(values, indices)`` along it; with a second tensor, ``maximum``.

>>> torch.max(torch.tensor([[1, 5], [7, 3]]), dim=1)
torch.return_types.max(
values=tensor([5, 7]),
indices=tensor([1, 0]))
"""

min = overload("torch", "Tensor")(_extreme("min", "minimum"))
min.__doc__ = (
    """The smallest element; with ``dim``, ``(values, indices)`` along it; with a second tensor, ``minimum``.""")


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

    choose.__name__ = name
    choose.__doc__ = (f"{_SPREADS[name]} of all elements, or over ``dim``; ``correction`` is taken off the count (1: "
        "unbiased).")
    return choose


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

    choose.__name__ = name
    choose.__doc__ = ("The median of all elements, or ``(values, indices)`` of the medians along ``dim``; of two "
        "middle values the lower.") + (" NaN does not count." if name == "nanmedian" else "")
    return choose


median, nanmedian = (overload("torch", "Tensor")(_middle(n)) for n in ("median", "nanmedian"))


@overload("torch", "Tensor")
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, **more: Any) -> Any:
    """The product of all elements, or over ``dim``; integers give int64.

    >>> torch.prod(torch.tensor([2, 3, 4]))
    tensor(24)
    """
    if dim is None and "axis" not in more:
        return function("prod")(input, dtype=dtype, **more)
    if isinstance(dim, (tuple, list)):
        raise TypeError("prod() received an invalid combination of arguments - got (tuple), but dim must be int")
    return function("prod_dim")(input, dim, keepdim, dtype=dtype, **more)
