"""Largest and smallest values, and the places where they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.array_likes import as_array
from ..arrays.plain.shortcuts import LARGEST, LEAST
from ..arrays.reduce import fold
from .operator import Array, family
from .pointwise import widened
from .reduce import axes_of, restored
from .refusals import unsupported
from .views import axis, dims_of

operator, composite = family("torch", "Tensor", layout="rows")


def nonempty(name: str, input: Any, dim: Any, public_name: str | None = None) -> None:
    """Refuse a reduction over no elements, which has no largest value."""
    if input.size:
        return
    if dim is None or (type(dim) is not int and not len(dim)):
        raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument.")
    for d in dims_of(dim, input.ndim):
        if input.shape[d] == 0:
            raise IndexError(f"{public_name or name + '()'}: Expected reduction dim {d} to have non-zero size.")


def ordered(name: str, d: Any) -> None:
    """Refuse complex numbers, which have no order."""
    if d.kind == "c":
        raise unsupported(name, d)


PICKED = dict(outputs=("values", "indices"), nondifferentiable=("indices",), places=())


def _holders(F: Any, input: Any, result: Any, dim: Any, keepdim: Any) -> Any:
    mask = input == restored(F, result, input.shape, dim, keepdim)
    if dim is None and (result != result).any():  # of everything: NaN is the result where there is one
        mask = mask | (input != input)
    return mask


def shared(F: Any, g: Any, input: Any, result: Any, dim: Any, keepdim: Any) -> Any:
    """The gradient of an extreme value, in equal parts to all elements that have it."""
    mask = _holders(F, input, result, dim, keepdim)
    return restored(F, g, input.shape, dim, keepdim) / F.sum(mask, dim, True) * mask


def shared_by_all(F: Any, g: Any, input: Any, result: Any) -> Any:
    """The same where the result is that of all elements: a gradient of NaN reaches no others."""
    mask = _holders(F, input, result, None, False)
    return F.where(mask, g / F.sum(mask), 0)


def push_shared(F: Any, t: Any, input: Any, result: Any) -> Any:
    """The mean tangent of all elements that are the extreme one; NaN is equal to none."""
    mask = input == result
    return F.sum(t / F.sum(mask) * mask)


def chosen_back(F: Any, g: Any, indices: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    """The gradient of values picked at ``indices`` along ``dim``."""
    if not input_shape:
        return g
    if not keepdim:
        g, indices = F.unsqueeze(g, dim), F.unsqueeze(indices, dim)
    return F.scattered(g, dim, indices, input_shape, True)


def _extreme(ufunc: Any, input: Any, axis: Any, keepdim: Any = False) -> Any:
    x = widened(input)  # which NumPy compares quickly
    found = fold(x, axis, keepdim, LARGEST if ufunc is np.maximum else LEAST)
    if found is None:
        found = ufunc.reduce(x, axis, None, None, keepdim)
    return found if x is input else as_array(found).astype(input.dtype)


def _extremes(name: str, full: str, ufunc: Any, place: Any) -> None:
    """Declare ``max`` (values and places along a dimension), ``max_all`` and ``amax``; or those of ``min``."""

    @operator(grad=dict(input=chosen_back), name=name, **PICKED)
    def extreme(input: Array, dim, keepdim=False):
        if input.dtype.kind == "c":
            raise RuntimeError(f"{name}(): does not support complex input")
        if not input.ndim:
            axis(dim, 0)
            return input.copy(), np.zeros((), np.int64)
        nonempty(name, input, dim)
        return _extreme(ufunc, input, dim, keepdim), place(widened(input), dim, None, keepdims=keepdim)

    @operator(grad=dict(input=shared_by_all), push=push_shared, name=f"{name}_all", node=full, places=())
    def extreme_all(input: Array):
        ordered(f"{name}_all", input.dtype)
        nonempty(name, input, None)
        return _extreme(ufunc, input, None)

    @operator(grad=dict(input=shared), name=f"a{name}")
    def extreme_values(input: Array, dim=(), keepdim=False):
        ordered(f"{name}_values_cpu", input.dtype)
        nonempty(f"a{name}", input, dim)
        return _extreme(ufunc, input, axes_of(dim, input.ndim), keepdim)

    @operator(name=f"arg{name}")
    def extreme_place(input: Array, dim=None, keepdim=False):
        if input.dtype.kind in "cb":
            raise RuntimeError(f"arg{name}(): does not support {'complex' if input.dtype.kind == 'c' else 'bool'} "
                "input")
        if dim is None and not input.size:
            raise IndexError(f"arg{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        if not input.ndim:
            axis(0 if dim is None else dim, 0)
            return np.zeros((), np.int64)
        nonempty(f"arg{name}", input, dim)
        return place(widened(input), None if dim is None else axis(dim, input.ndim), None, keepdims=keepdim)

    word = "largest" if name == "max" else "smallest"
    extreme_values.doc = (f"The {word} values over ``dim`` (an int or several; everything if empty); ties share the "
        "gradient.")
    extreme_place.doc = f"The place of the {word} element along ``dim``, or of all in row-major order; int64."


_extremes("max", "MaxBackward1", np.maximum, np.argmax)
_extremes("min", "MinBackward1", np.minimum, np.argmin)


@operator(outputs=("min", "max"), grad=dict(input=lambda F, g, input, min, max, dim, keepdim: (
    shared(F, g[0], input, min, dim, keepdim) + shared(F, g[1], input, max, dim, keepdim))))
def aminmax(input: Array, *, dim=None, keepdim=False):
    """``(min, max)`` of everything or over ``dim``.

    >>> low, high = torch.aminmax(torch.tensor([3, 1, 2]))
    >>> low, high
    (tensor(1), tensor(3))
    """
    ordered("aminmax_cpu", input.dtype)
    if isinstance(dim, (tuple, list)):
        raise TypeError(f"aminmax(): argument 'dim' must be int, not {type(dim).__name__}")
    if dim is None and not input.size:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity.")
    nonempty("aminmax", input, dim, "aminmax")
    axis = axes_of(dim, input.ndim)
    return np.minimum.reduce(input, axis, keepdims=keepdim), np.maximum.reduce(input, axis, keepdims=keepdim)
