"""Sums, products, means and spreads over dimensions."""

from __future__ import annotations

from math import prod as product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays.reduce import wide_type
from .operator import family
from .views import dims_of

if TYPE_CHECKING:
    from .operator import Array

operator, composite = family("torch", "Tensor")


# -- helpers of the reductions ------------------------------------------------------------------------------------------


def axes_of(dim: Any, ndim: int) -> Any:
    """``dim`` as NumPy wants it: None for all, an int, or a tuple."""
    return dim if dim is None or (type(dim) is int and ndim) else dims_of(dim, ndim)


def kept(size: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    """The shape ``size`` with the dimensions ``dim`` reduced to one."""
    if dim is None or (type(dim) is not int and not len(dim)) or not size:
        return (1,) * len(size)
    row = list(size)
    for d in (dim,) if type(dim) is int else dim:
        row[d] = 1
    return tuple(row)


def count(size: tuple[int, ...], dim: Any) -> int:
    """How many elements of an array of shape ``size`` fall into one result."""
    if dim is None or (type(dim) is not int and not len(dim)):
        return product(size)
    if not size:
        return 1
    return product(size[d] for d in ((dim,) if type(dim) is int else dim))


def _spread(input: Any, size: tuple[int, ...], dim: Any = None, keepdim: Any = False) -> np.ndarray:
    a = input if type(input) is np.ndarray else np.asarray(input)
    if not keepdim:
        a = a.reshape(kept(size, dim))
    if product(size) > 4096:  # a view costs no memory, but is the slower of the two where there is little to fill
        return np.broadcast_to(a, size)
    out = np.empty(size, a.dtype)
    out[...] = a
    return out


@composite(places=(), raw=_spread)
def spread(F, input, size, dim=None, keepdim=False):
    """Undo the shape of a reduction over ``dim`` of an array of shape ``size``: each value repeated where it came from."""
    return F.expand(restored(F, input, size, dim, keepdim), size)


def restored(F: Any, x: Any, size: tuple[int, ...], dim: Any, keepdim: Any) -> Any:
    """The result ``x`` of a reduction with its reduced dimensions back as ones."""
    return x if keepdim and x.ndim == len(size) else F.reshape(x, kept(size, dim))


def total(input: Any, axis: Any, keepdim: Any = False, dtype: Any = None) -> Any:
    """The sum in PyTorch's type: integers as int64, half precision carried in float32."""
    kind = input.dtype.kind
    if dtype is None:
        if kind == "f" and input.dtype.itemsize > 2 or kind == "c":
            return np.add.reduce(input, axis, None, None, keepdim)
        dtype = dt.I64 if kind in "biu" else input.dtype
    elif kind == "c" and dtype.kind != "c":
        input = input.real
    wide = wide_type(dtype)
    if wide is None:
        return np.add.reduce(input, axis, dtype, None, keepdim)
    return np.add.reduce(input, axis, wide, None, keepdim).astype(dtype)


def floating(name: str, d: Any) -> None:
    """Refuse integer input."""
    if d.kind in "biu":
        raise RuntimeError(
            f"{name}(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {dt.scalar_name(d)}"
        )


# -- sums and means -----------------------------------------------------------------------------------------------------

# One operator, two node names: PyTorch tells the sum of everything from the sum over dimensions.
for _name, _node in (("sum", "SumBackward0"), ("sum_dim", "SumBackward1")):

    @operator(grad=dict(input=lambda F, g, input_shape, dim, keepdim: F.spread(g, input_shape, dim, keepdim)), name=_name, node=_node, places=())
    def sum(input: Array, dim=None, keepdim=False, *, dtype=None):
        return total(input, axes_of(dim, input.ndim), keepdim, dtype)


def _mean_back(F: Any, g: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    return F.spread(g / count(input_shape, dim), input_shape, dim, keepdim)


for _name, _node in (("mean", "MeanBackward0"), ("mean_dim", "MeanBackward1")):

    @operator(grad=dict(input=_mean_back), name=_name, node=_node, places=())
    def mean(input: Array, dim=None, keepdim=False, *, dtype=None):
        d = dtype or input.dtype
        if d.kind in "biu":
            raise RuntimeError(
                "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
                f"Got: {dt.scalar_name(d)}"
            )
        wide = wide_type(d)
        if wide is None:
            return total(input, axes_of(dim, input.ndim), keepdim, dtype) / count(input.shape, dim)
        return (np.add.reduce(input, axes_of(dim, input.ndim), wide, None, keepdim) / count(input.shape, dim)).astype(d)


# -- variance -----------------------------------------------------------------------------------------------------------


def spread_squares(input: Any, dim: Any, correction: Any, keepdim: Any) -> tuple[Any, Any]:
    """``(variance, mean)``; of complex numbers, the variance of the distance from the mean."""
    if input.dtype.kind not in "fcV":
        raise RuntimeError(f"std and var only support floating point and complex dtypes, but got {dt.of(input.dtype)}")
    d, wide = input.dtype, wide_type(input.dtype)
    if wide is not None:
        input = input.astype(wide)
    axis, n = axes_of(dim, input.ndim), count(input.shape, dim)
    mean = np.add.reduce(input, axis, None, None, True) / n
    away = input - mean
    squares = np.multiply(away, away, out=away) if d.kind != "c" else away.real**2 + away.imag**2
    var = np.add.reduce(squares, axis, None, None, keepdim) / np.asarray(max(0, n - correction), squares.dtype)
    if not keepdim:
        mean = mean.reshape(np.shape(var))
    return (var, mean) if wide is None else (var.astype(d), mean.astype(d))


def _var_back(F: Any, g: Any, input: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    shape = input.shape
    away = input - F.mean(input, dim, True)
    return restored(F, g, shape, dim, keepdim) * _two_over(count(shape, dim) - correction) * away


def _two_over(n: Any) -> float:
    return 2 / n if n > 0 else float("inf")


@operator(grad=dict(input=_var_back), wirtinger=True, places=())
def var(input: Array, dim=None, *, correction=1, keepdim=False):
    return spread_squares(input, dim, correction, keepdim)[0]


def _std_back(F: Any, g: Any, input: Any, result: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    return _var_back(F, F.masked_fill(g / (result * 2), result == 0, 0), input, dim, correction, keepdim)


@operator(grad=dict(input=_std_back), wirtinger=True, places=())
def std(input: Array, dim=None, *, correction=1, keepdim=False):
    return np.sqrt(spread_squares(input, dim, correction, keepdim)[0])


def _var_mean_back(F: Any, g: Any, input: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    return _var_back(F, g[0], input, dim, correction, keepdim) + _mean_back(F, g[1], input.shape, dim, keepdim)


@operator(grad=dict(input=_var_mean_back), wirtinger=True, outputs=("var", "mean"), places=())
def var_mean(input: Array, dim=None, *, correction=1, keepdim=False):
    return spread_squares(input, dim, correction, keepdim)


def _std_mean_back(F: Any, g: Any, input: Any, std: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    return _std_back(F, g[0], input, std, dim, correction, keepdim) + _mean_back(F, g[1], input.shape, dim, keepdim)


@operator(grad=dict(input=_std_mean_back), wirtinger=True, outputs=("std", "mean"), places=())
def std_mean(input: Array, dim=None, *, correction=1, keepdim=False):
    var, mean = spread_squares(input, dim, correction, keepdim)
    return np.sqrt(var), mean
