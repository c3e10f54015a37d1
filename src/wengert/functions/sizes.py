"""Sizes as functions take them: ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))``."""

from __future__ import annotations

from operator import index as _index
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable


def shape_of(args: Iterable[Any], name: str = "") -> tuple[int, ...]:
    """Sizes given to the function ``name`` as ``f(2, 3)``, ``f((2, 3))`` or ``f(torch.Size)``."""
    row = tuple(args)
    for n in row[0] if len(row) == 1 and type(row[0]) is tuple else row:
        if type(n) is not int:
            break
    else:
        return row[0] if len(row) == 1 and type(row[0]) is tuple else row
    alone = len(row) == 1
    if (alone and not isinstance(row[0], (int, np.integer, str, type)) and hasattr(row[0], "__len__")
            and getattr(row[0], "ndim", 1) > 0):
        row, alone = tuple(row[0]), False
    try:
        if alone and type(row[0]) is bool:
            raise TypeError
        return tuple([n if type(n) is int else _index(n) for n in row])
    except TypeError:
        at, wrong = next(((i, n) for i, n in enumerate(row) if not hasattr(n, "__index__")), (0, row[0]))
        asked, kind = f"{name}(): argument 'size'" if name else "argument 'size'", type(wrong).__name__
        if alone:
            raise TypeError(f"{asked} (position 1) must be tuple of ints, not {kind}") from None
        if not at:
            raise TypeError(f"{asked} (position 1) must be tuple of ints, but found element of type {kind} at pos "
                "0") from None
        raise TypeError(f"{asked} failed to unpack the object at pos {at + 1} with error \"type must be tuple of "
            f"ints,but got {kind}\"") from None


def sizes_given(name: str, args: tuple[Any, ...], size: Any) -> tuple[int, ...]:
    """``shape_of`` the arguments of the function ``name``, or of what was given as ``size=``."""
    if size is None:
        return shape_of(args, name)
    if args:
        raise TypeError(f"{name}() got multiple values for argument 'size'")
    if isinstance(size, int):
        raise TypeError(f"{name}(): argument 'size' must be tuple of ints, not int")
    return shape_of((size,), name)
