"""``rearrange``: transposing, joining and splitting dimensions by a pattern of their names.

Source: A. Rogozhnikov, "Einops: Clear and Reliable Tensor Manipulations with Einstein-like Notation", 2022.
"""

from __future__ import annotations

import keyword
import re
import warnings
from math import prod
from typing import TYPE_CHECKING, Any

from ..names.absent import absent_from
from ..tensor import Tensor
from ..tensor.functions import function

if TYPE_CHECKING:
    from collections.abc import Sequence

_ELLIPSIS = "\u2026"  # the further dimensions, in place of a group of names


class DimensionBindError(Exception):
    """The sizes of a tensor do not fit a pattern."""


def rearrange(tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int) -> Any:
    """``tensor`` with its dimensions transposed, joined and split as ``pattern`` says.

    ``tensor``: one, or several of one shape, which are stacked first. ``pattern``: the names of the dimensions before
    and after ``->``; names in parentheses share a dimension, the first of them outermost, ``...`` stands for any
    further dimensions and ``1`` for one of size one. ``axes_lengths``: sizes of names that do not follow from the
    shape.

    Raises ``ValueError`` for a pattern that cannot be, or is not one for so many dimensions, ``TypeError`` for a
    length that is no int, ``DimensionBindError`` for sizes that do not fit.

    >>> images = torch.zeros(32, 30, 40, 3)
    >>> torch.func.rearrange(images, "b h w c -> b (c h w)").shape
    torch.Size([32, 3600])
    >>> torch.func.rearrange(images, "b (h1 h) (w1 w) c -> (b h1 w1) h w c", h1=2, w1=2).shape
    torch.Size([128, 15, 20, 3])
    """
    x = tensor if isinstance(tensor, Tensor) else function("stack")(list(tensor))
    sides = _sides(pattern, axes_lengths)
    dotted = _ELLIPSIS in sides[0]
    spare = x.ndim - (len(sides[0]) - dotted)
    if spare < 0 or (spare and not dotted):
        relation = "less than or equal to" if dotted else "equal to"
        raise ValueError(f"Number of dimensions in pattern ({x.ndim - spare}) must be {relation} the number of "
            f"dimensions in the tensor ({x.ndim})")
    dots = [f"{_ELLIPSIS}{i}" for i in range(spare)]

    def groups(side: list[Any]) -> list[list[str]]:
        """For each dimension of the tensor the names that make it up."""
        row = [g for group in side for g in ([[d] for d in dots] if group == _ELLIPSIS else [group])]
        return [[n for name in group for n in (dots if name == _ELLIPSIS else [name])] for group in row]

    left, right = map(groups, sides)
    sizes = _sizes(left, x.shape, axes_lengths)
    names = [n for group in left for n in group]
    moved = x.reshape([sizes[n] for n in names]).permute([names.index(n) for group in right for n in group])
    return moved.reshape([prod(sizes[n] for n in group) for group in right])


def _sides(pattern: str, lengths: dict[str, int]) -> list[list[Any]]:
    """What stands left and right of the arrow: see ``_parsed``."""
    texts = pattern.split("->")
    if len(texts) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    for name, length in lengths.items():
        if type(length) is not int:
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)} for {name!r}")
    sides = list(map(_parsed, texts))
    left, right = ({name for group in side for name in group} for side in sides)
    if _ELLIPSIS in right - left:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if any(type(group) is list and _ELLIPSIS in group for group in sides[0]):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    if left != right:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {left ^ right}")
    if unknown := set(lengths) - left:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")
    return sides


def _parsed(text: str) -> list[Any]:
    """For each dimension the list of its names, none for ``1``; ``_ELLIPSIS`` for dots outside of parentheses."""
    if "." in text.replace("...", "", 1):
        raise ValueError("Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor ")
    side: list[Any] = []
    seen: set[str] = set()
    group: list[str] | None = None  # what stands in parentheses so far
    for token in re.findall(r"[()]|[^\s()]+", text.replace("...", f" {_ELLIPSIS} ")):
        if token == "(":
            if group is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            group = []
        elif token == ")":
            if group is None:
                raise ValueError("Brackets are not balanced")
            side.append(group)
            group = None
        else:
            _check_name(token, seen)
            names = [] if token == "1" else [token]
            if group is None:
                side.append(token if token == _ELLIPSIS else names)
            else:
                group += names
            seen.update(names)
    if group is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{text}'")
    return side


def _check_name(name: str, seen: set[str]) -> None:
    if name in (_ELLIPSIS, "1"):
        return
    if name.isdecimal():
        raise ValueError("rearrange only supports unnamed axes of size 1")
    if not name.isidentifier():
        raise ValueError(f"Invalid axis identifier: {name}\nnot a valid python identifier")
    if name[0] == "_" or name[-1] == "_":
        raise ValueError(f"Invalid axis identifier: {name}\naxis name should should not start or end with underscore")
    if name in seen:
        raise ValueError(f"Indexing expression contains duplicate dimension '{name}'")
    if keyword.iskeyword(name):
        warnings.warn(f"It is discouraged to use axes names that are keywords: {name}", RuntimeWarning, stacklevel=5)


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


__getattr__ = absent_from(__name__)
