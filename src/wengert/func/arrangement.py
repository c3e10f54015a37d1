"""``rearrange``: transposing, joining and splitting dimensions by a pattern of their names.

Source: A. Rogozhnikov, "Einops: Clear and Reliable Tensor Manipulations with Einstein-like Notation", 2022.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ..tensor import Tensor
from ..tensor.functions import function
from .patterns import _ellipsis, parse_pattern, validate_rearrange_expressions

if TYPE_CHECKING:
    from collections.abc import Sequence


class DimensionBindError(Exception):
    """The sizes of a tensor do not fit a pattern."""


def _sizes(left: list[list[str]], shape: Sequence[int], lengths: dict[str, int]) -> dict[str, int]:
    """The size of every name, of which each dimension may leave one open."""
    known = dict(lengths)
    for group, size in zip(left, shape):
        open_ = [n for n in group if n not in known]
        given = prod(known[n] for n in group if n in known)
        if len(open_) > 1:
            raise DimensionBindError(f"cannot infer the sizes of two dimensions at once {open_[0]} and {open_[1]}")
        if open_ and (given == 0 or size % given):
            pack = tuple(known.get(n, "?") for n in group)
            raise DimensionBindError(f"inferred dimension does not evenly fit into larger dimension: {size} vs {pack}")
        if not open_ and given != size:
            raise DimensionBindError(f"Dimension sizes to do not match ({size} != {given}) when matching dimension "
                f"pack ({', '.join(group)})")
        known |= dict.fromkeys(open_, size // given if open_ else 1)
    return known


def rearrange(tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int) -> Any:
    """``tensor`` with its dimensions transposed, joined and split as ``pattern`` says.

    Args:
        tensor: a tensor, or several of one shape, which are stacked first.
        pattern: the names of the dimensions before and after ``->``; names in parentheses share a dimension, the first
            of them outermost, ``...`` stands for any further dimensions and ``1`` for one of size one.
        axes_lengths: sizes of names that do not follow from the shape.

    Raises:
        ValueError: a pattern that cannot be, or is not one for so many dimensions.
        DimensionBindError: one that does not go with the sizes.

    >>> images = torch.zeros(32, 30, 40, 3)
    >>> torch.func.rearrange(images, "b h w c -> b (c h w)").shape
    torch.Size([32, 3600])
    >>> torch.func.rearrange(images, "b (h1 h) (w1 w) c -> (b h1 w1) h w c", h1=2, w1=2).shape
    torch.Size([128, 15, 20, 3])
    """
    x = tensor if isinstance(tensor, Tensor) else function("stack")(list(tensor))
    sides = parse_pattern(pattern, axes_lengths)
    validate_rearrange_expressions(*sides, axes_lengths)
    dotted = sides[0].has_ellipsis
    spare = x.ndim - (len(sides[0].composition) - dotted)
    if spare < 0 and dotted:
        raise ValueError(
            f"Number of dimensions in pattern ({x.ndim - spare}) must be less than or equal to the number of "
            f"dimensions in the tensor ({x.ndim})"
        )
    if spare and not dotted:
        raise ValueError(f"Number of dimensions in pattern ({x.ndim - spare}) must be equal to the number of "
            f"dimensions in the tensor ({x.ndim})")
    dots = [f"{_ellipsis}{i}" for i in range(spare)]

    def groups(composition: list[Any]) -> list[list[str]]:
        """For each dimension of the tensor the names that make it up."""
        row = [g for group in composition for g in ([[d] for d in dots] if group == _ellipsis else [group])]
        return [[n for name in group for n in (dots if name == _ellipsis else [name])] for group in row]

    left, right = (groups(side.composition) for side in sides)
    sizes = _sizes(left, x.shape, axes_lengths)
    names = [n for group in left for n in group]
    moved = x.reshape([sizes[n] for n in names]).permute([names.index(n) for group in right for n in group])
    return moved.reshape([prod(sizes[n] for n in group) for group in right])
