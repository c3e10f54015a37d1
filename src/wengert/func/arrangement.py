"""``rearrange``: transposing, joining and splitting dimensions by a pattern of their names.

Source: A. Rogozhnikov, "Einops: Clear and Reliable Tensor Manipulations with Einstein-like Notation", 2022.
"""

from __future__ import annotations

import keyword
import re
from math import prod
from typing import TYPE_CHECKING, Any

from ..tensor import Tensor
from ..tensor.functions import function

if TYPE_CHECKING:
    from collections.abc import Sequence

_GROUP = re.compile(r"\(([^()]*)\)|(\S+)")
_DOTS, _JOINED = "...", "(...)"  # the further dimensions, each by itself, or in one with others


def _groups(side: str) -> list[list[str]]:
    """``"b (h w) 1"`` as ``[["b"], ["h", "w"], []]``: the names that make up each dimension."""
    if side.count("(") != side.count(")"):
        raise ValueError(f"Imbalanced parentheses in expression: '{side}'")
    side = side.replace(_DOTS, f" {_DOTS} ").replace("(", " (").replace(")", ") ")
    found = [[single] if single else [_JOINED if n == _DOTS else n for n in inside.split()] for inside, single in _GROUP.findall(side)]
    names = [n for group in found for n in group]
    for name in names:
        if name not in (_DOTS, _JOINED, "1") and (not name.isidentifier() or name[0] == "_" or name[-1] == "_" or keyword.iskeyword(name)):
            if name.isdigit():
                raise ValueError("rearrange only supports unnamed axes of size 1")
            raise ValueError(f"Invalid axis identifier: {name}")
        if name != "1" and names.count(name) > 1:
            raise ValueError(f"Indexing expression contains duplicate dimension '{name}'")
    return [[n for n in group if n != "1"] for group in found]


def _parsed(pattern: str, lengths: dict[str, int]) -> tuple[list[list[str]], list[list[str]]]:
    """The groups left and right of the arrow, checked against each other and the lengths."""
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = map(_groups, sides)
    before, after = ({n for group in side for n in group} for side in (left, right))
    if _JOINED in before:
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    after = {_DOTS if n == _JOINED else n for n in after}
    if _DOTS in after and _DOTS not in before:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if before != after:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {before ^ after}")
    if unknown := set(lengths) - before:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")
    return left, right


def _sizes(left: list[list[str]], shape: Sequence[int], lengths: dict[str, int]) -> dict[str, int]:
    """The size of every name, of which each dimension may leave one open."""
    known = dict(lengths)
    for group, size in zip(left, shape):
        open_ = [n for n in group if n not in known]
        given = prod(known[n] for n in group if n in known)
        if len(open_) > 1 or (open_ and (given == 0 or size % given)) or (not open_ and given != size):
            raise ValueError(f"a dimension of size {size} cannot be split into ({' '.join(group)}) with the lengths {lengths}")
        known |= dict.fromkeys(open_, size // given if open_ else 1)
    return known


def rearrange(tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int) -> Any:
    """``tensor`` with its dimensions transposed, joined and split as ``pattern`` says.

    Args:
        tensor: a tensor, or several of one shape, which are stacked first.
        pattern: the names of the dimensions before and after ``->``; names in parentheses share a dimension, the first of them
            outermost, ``...`` stands for any further dimensions and ``1`` for one of size one.
        axes_lengths: sizes of names that the shape does not tell.

    Raises ``ValueError`` for a pattern that does not fit.

    >>> import wengert as torch
    >>> images = torch.zeros(32, 30, 40, 3)
    >>> torch.func.rearrange(images, "b h w c -> b (c h w)").shape
    torch.Size([32, 3600])
    >>> torch.func.rearrange(images, "b (h1 h) (w1 w) c -> (b h1 w1) h w c", h1=2, w1=2).shape
    torch.Size([128, 15, 20, 3])
    """
    x = tensor if isinstance(tensor, Tensor) else function("stack")(list(tensor))
    left, right = _parsed(pattern, axes_lengths)
    spare = x.ndim - (len(left) - ([_DOTS] in left))
    if spare < 0 and [_DOTS] in left:
        raise ValueError(
            f"Number of dimensions in pattern ({len(left) - 1}) must be less than or equal to the number of dimensions in the tensor ({x.ndim})"
        )
    if spare and [_DOTS] not in left:
        raise ValueError(f"Number of dimensions in pattern ({len(left)}) must be equal to the number of dimensions in the tensor ({x.ndim})")
    dots = [f"{_DOTS}{i}" for i in range(spare)]
    left = [g for group in left for g in ([[d] for d in dots] if group == [_DOTS] else [group])]
    right = [g for group in right for g in ([[d] for d in dots] if group == [_DOTS] else [group])]
    right = [[n for name in group for n in (dots if name == _JOINED else [name])] for group in right]
    sizes = _sizes(left, x.shape, axes_lengths)
    names = [n for group in left for n in group]
    moved = x.reshape([sizes[n] for n in names]).permute([names.index(n) for group in right for n in group])
    return moved.reshape([prod(sizes[n] for n in group) for group in right])
