"""Largest and smallest values, and the places where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .operator import family
from .reduce import axes_of, restored
from .views import axis, dims_of

if TYPE_CHECKING:
    from .operator import Array

operator, composite = family("torch", "Tensor")


def nonempty(name: str, input: Any, dim: Any) -> None:
    """Refuse a reduction over no elements, which has no largest value."""
    if input.size:
        return
    if dim is None or (type(dim) is not int and not len(dim)):
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
        )
    for d in dims_of(dim, input.ndim):
        if input.shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


def ordered(name: str, d: Any) -> None:
    """Refuse complex numbers, which have no order."""
    if d.kind == "c":
        from .pointwise import unsupported

        raise unsupported(name, d)


def shared(F: Any, g: Any, input: Any, result: Any, dim: Any, keepdim: Any) -> Any:
    """The gradient of an extreme value, in equal parts to all elements that have it."""
    shape = input.shape
    mask = input == restored(F, result, shape, dim, keepdim)
    return restored(F, g, shape, dim, keepdim) / F.sum(mask, dim, True) * mask


def chosen_back(F: Any, g: Any, indices: Any, input_shape: Any, dim: Any, keepdim: Any) -> Any:
    """The gradient of values picked at ``indices`` along ``dim``."""
    if not input_shape:
        return g
    if not keepdim:
        g, indices = F.unsqueeze(g, dim), F.unsqueeze(indices, dim)
    return F.scattered(g, dim, indices, input_shape, True)


def _extremes(name: str, full: str, ufunc: Any, place: Any) -> None:
    """Declare ``max`` (values and places along a dimension), ``max_all`` and ``amax``; or those of ``min``."""

    @operator(grad=dict(input=chosen_back), outputs=("values", "indices"), nondifferentiable=("indices",), name=name, places=())
    def extreme(input: Array, dim, keepdim=False):
        ordered(name, input.dtype)
        if not input.ndim:
            axis(dim, 0)
            return input.copy(), np.zeros((), np.int64)
        if input.shape[axis(dim, input.ndim)] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {axis(dim, input.ndim)} to have non-zero size.")
        return ufunc.reduce(input, dim, None, None, keepdim), place(input, dim, None, keepdims=keepdim)

    back = lambda F, g, input, result: shared(F, g, input, result, None, False)  # noqa: E731

    @operator(grad=dict(input=back), name=f"{name}_all", node=full, places=())
    def extreme_all(input: Array):
        ordered(f"{name}_all", input.dtype)
        nonempty(name, input, None)
        return ufunc.reduce(input, None)

    @operator(grad=dict(input=shared), name=f"a{name}")
    def extreme_values(input: Array, dim=(), keepdim=False):
        ordered(f"a{name}", input.dtype)
        nonempty(f"a{name}", input, dim)
        return ufunc.reduce(input, axes_of(dim, input.ndim), None, None, keepdim)


_extremes("max", "MaxBackward1", np.maximum, np.argmax)
_extremes("min", "MinBackward1", np.minimum, np.argmin)
