"""Splitting and filling with several forms: numbers or lists of lengths, numbers or tensors as values."""

from __future__ import annotations

from typing import Any

from .functions import function, inplace_function
from .overloads import overload
from .tensor import Tensor


@overload("torch", "Tensor")
def split(tensor: Any, split_size_or_sections: Any = None, dim: int = 0, **more: Any) -> Any:
    """Views along ``dim``: of one length (the last may be shorter), or of the lengths in a list.

    >>> import wengert as torch
    >>> [len(part) for part in torch.arange(5).split(2)]
    [2, 2, 1]
    >>> [len(part) for part in torch.arange(5).split([1, 4])]
    [1, 4]
    """
    size = more.pop("split_size", split_size_or_sections)
    if isinstance(size, (list, tuple)):
        return function("split_with_sizes")(tensor, size, dim)
    return function("split")(tensor, size, dim, **more)


def _filler(name: str, places: tuple[str, ...], find: Any, position: int, argument: str) -> None:
    """A function whose last argument is a number, or a 0-d tensor that may want a gradient."""
    number, tensor = find(name), find(name + "_tensor")

    def fill(*args: Any, **more: Any) -> Any:
        value = args[position] if len(args) > position else more.get(argument)
        return (tensor if isinstance(value, Tensor) else number)(*args, **more)

    fill.__name__ = name + ("_" if find is inplace_function else "")
    fill.__doc__ = number.__doc__
    overload(*places)(fill)


_filler("masked_fill", ("torch", "Tensor"), function, 2, "value")
_filler("masked_fill", ("Tensor",), inplace_function, 2, "value")
