"""Strides that users can observe: memory formats, and the layout that a new array takes over from another.

A memory format is a wish about the order of dimensions in memory, an object with a name. ``preserve_format`` keeps the
strides of an array that fills its memory without gaps, in whatever order, and otherwise keeps the order of its strides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_RANK = {"channels_last": 4, "channels_last_3d": 5}


def strides_for(shape: tuple[int, ...], order: Any) -> tuple[int, ...]:
    """Strides, in elements, of an array without gaps whose dimensions ``order`` go from the outermost to the innermost."""
    row = [0] * len(shape)
    step = 1
    for d in reversed(order):
        row[d] = step
        step *= max(shape[d], 1)
    return tuple(row)


def format_name(kind: Any) -> str | None:
    """The name of a memory format; PyTorch's own objects, of a program that uses both libraries, tell it by their text."""
    if type(kind).__name__ == "memory_format":
        return getattr(kind, "name", None) or str(kind).removeprefix("torch.")
    return None


def format_strides(shape: tuple[int, ...], kind: Any) -> tuple[int, ...]:
    """Strides, in elements, of a new tensor of ``shape`` in the memory format ``kind``."""
    name = format_name(kind)
    n, rank = len(shape), _RANK.get(name or "")
    if rank:
        if n != rank:
            raise RuntimeError(f"required rank {rank} tensor to use {name} format")
        return strides_for(shape, (0, *range(2, n), 1))
    return strides_for(shape, range(n))


def is_in_format(a: np.ndarray, kind: Any) -> bool:
    """Whether the elements of ``a`` lie in memory as ``kind`` wants them, without gaps."""
    name = format_name(kind)
    if name == "contiguous_format":
        return a.flags.c_contiguous
    if name == "preserve_format":
        return a.flags.c_contiguous
    if name not in _RANK:
        raise TypeError(f"is_contiguous(): argument 'memory_format' (position 1) must be torch.memory_format, not {type(kind).__name__}")
    if a.ndim != _RANK[name]:
        return False
    steps = tuple(s // a.itemsize for s in a.strides) if a.size else strides_for(a.shape, range(a.ndim))
    expected = 1
    for d in (1, *range(a.ndim - 1, 1, -1), 0):
        if a.shape[d] != 1:
            if steps[d] != expected:
                return False
            expected *= a.shape[d]
    return True


def seems(a: np.ndarray) -> str:
    """The memory format that ``a`` seems to be in: the name of a channels-last format, or ``contiguous_format``."""
    name = {4: "channels_last", 5: "channels_last_3d"}.get(a.ndim)
    if name is None or a.strides[1] == 0:
        return "contiguous_format"
    least = 0
    for d in (1, *range(a.ndim - 1, 1, -1), 0):
        if a.shape[d] == 0 or a.strides[d] < least or (d == 0 and least == a.strides[1]):
            return "contiguous_format"
        least = a.strides[d] * a.shape[d]
    return name


def gapless(a: np.ndarray) -> bool:
    """Whether the elements of ``a`` fill their stretch of memory, each place once, in whatever order."""
    if a.flags.forc:
        return True
    step = a.itemsize
    for stride, n in sorted((s, n) for s, n in zip(a.strides, a.shape) if n != 1):
        if stride != step:
            return False
        step *= n
    return True


def kept_strides(a: np.ndarray) -> tuple[int, ...]:
    """The strides, in elements, that ``preserve_format`` gives a tensor made like ``a``."""
    if gapless(a):
        return tuple(s // a.itemsize for s in a.strides)
    return strides_for(a.shape, _order(a.shape, a.strides))


def _order(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """The dimensions from the one with the largest steps to that with the smallest; ties and repeated dimensions stay in place."""
    order = list(reversed(range(len(shape))))  # innermost first

    def after(a: int, b: int) -> int:
        if strides[a] == 0 or strides[b] == 0:
            return 0
        if strides[a] != strides[b]:
            return -1 if strides[a] < strides[b] else 1
        return 1 if shape[a] > shape[b] else 0

    for i in range(1, len(order)):
        at = i
        for k in range(i - 1, -1, -1):
            comparison = after(order[k], order[at])
            if comparison > 0:
                order[k], order[at] = order[at], order[k]
                at = k
            elif comparison < 0:
                break
    return order[::-1]


def blank(shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None = None, make: Any = np.empty) -> np.ndarray:
    """A new array with these strides (in elements), which must leave no gaps; ``make`` is ``np.empty`` or the like."""
    if strides is None:
        return make(shape, dtype)
    plain = make(int(np.prod(shape)), dtype)
    return np.ndarray(shape, dtype, plain, 0, [s * plain.itemsize for s in strides])


def layout_like(a: np.ndarray, kind: Any) -> tuple[int, ...] | None:
    """The strides of a new array in the shape of ``a`` in the format ``kind``; None where they are the usual ones."""
    name = "preserve_format" if kind is None else "contiguous_format" if kind is True else format_name(kind)
    if name == "contiguous_format":
        return None
    if name == "preserve_format":
        if a.flags.c_contiguous and 1 not in a.shape:
            return None
        kept = kept_strides(a)
        return None if kept == strides_for(a.shape, range(a.ndim)) else kept
    if name not in _RANK:
        raise TypeError(f"argument 'memory_format' must be torch.memory_format, not {type(kind).__name__}")
    return format_strides(a.shape, kind)
