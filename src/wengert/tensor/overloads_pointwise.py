"""Elementwise functions with several forms: limits and weights that are numbers or tensors, conditions alone."""

from __future__ import annotations

from typing import Any

from .functions import function, inplace_function
from .overloads import METHODS, overload
from .tensor import Tensor


def _limits(input: Any, min: Any, max: Any) -> Any:
    """The name of the primitive for limits of these kinds."""
    return "clamp_tensor" if isinstance(min, Tensor) or isinstance(max, Tensor) else "clamp"


@overload("torch", "Tensor")
def clamp(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
    """Limit to ``[min, max]``; numbers or tensors, either may be None. The gradient is one at the limits, zero outside."""
    f = function(_limits(input, min, max))
    return f(input, min, max) if out is None else f(input, min, max, out=out)


@overload("torch", "Tensor")
def clamp_(input: Any, min: Any = None, max: Any = None) -> Any:
    """``clamp`` in place."""
    return inplace_function(_limits(input, min, max))(input, min, max)


@overload("torch", "Tensor")
def clamp_min(input: Any, min: Any, *, out: Any = None) -> Any:
    """The larger of each element and ``min``, a number or a tensor."""
    return clamp(input, min, None, out=out)


@overload("torch", "Tensor")
def clamp_max(input: Any, max: Any, *, out: Any = None) -> Any:
    """The smaller of each element and ``max``, a number or a tensor."""
    return clamp(input, None, max, out=out)
