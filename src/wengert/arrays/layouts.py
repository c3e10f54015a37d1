"""Strides that users can observe: memory formats, and the layout that a new array takes over from another.

A memory format is a wish about the order of dimensions in memory, an object with a name. ``preserve_format`` keeps the
strides of an array that fills its memory without gaps, in whatever order, and otherwise keeps the order of its strides.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from . import kernels as K
from .array_likes import FOREIGN, has_memory, in_rows

_RANK = {"channels_last": 4, "channels_last_3d": 5}


def strides_for(shape: tuple[int, ...], order: Any) -> tuple[int, ...]:
    """Strides, in elements, of an array without gaps; ``order``: its dimensions from outermost to innermost."""
    row = [0] * len(shape)
    step = 1
    for d in reversed(order):
        row[d] = step
        step *= max(shape[d], 1)
    return tuple(row)


def format_name(kind: Any) -> str | None:
    """The name of a memory format, of PyTorch's own objects by their text; None for anything else."""
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
    """Whether the elements of ``a`` have the memory format ``kind``, without gaps."""
    name = format_name(kind)
    if name in ("contiguous_format", "preserve_format"):
        return a.flags.c_contiguous
    if name not in _RANK:
        raise TypeError("is_contiguous(): argument 'memory_format' (position 1) must be torch.memory_format, not "
            f"{type(kind).__name__}")
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
    if name is None or a.strides[1] == 0 or a.strides[-1] < a.strides[1] * a.shape[1]:
        return "contiguous_format"
    least = 0
    for d in (1, *range(a.ndim - 1, 1, -1), 0):
        if a.shape[d] == 0 or a.strides[d] < least or (d == 0 and least == a.strides[1]):
            return "contiguous_format"
        least = a.strides[d] * a.shape[d]
    return name


_INSIDE_OUT = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
_OUTSIDE_IN = {4: (0, 3, 1, 2), 5: (0, 4, 1, 2, 3)}


def inside_out(a: Any) -> Any:
    """Images with their channels as the last dimension, if they lie innermost in memory, without gaps; else None."""
    if type(a) is not np.ndarray or a.flags.c_contiguous or a.ndim not in _INSIDE_OUT:
        return None
    moved = channels_inside(a)
    return moved if moved.flags.c_contiguous else None


def channels_inside(a: np.ndarray) -> np.ndarray:
    """A view of images with their channels as the last dimension."""
    return a.transpose(_INSIDE_OUT[a.ndim])


def outside_in(a: np.ndarray) -> np.ndarray:
    """``inside_out`` undone."""
    return a.transpose(_OUTSIDE_IN[a.ndim])


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
    return strides_for(a.shape, order_of(a.shape, (a.strides,)))


def order_of(shape: tuple[int, ...], operands: Any) -> list[int]:
    """The dimensions from the one with the largest steps to that with the smallest.

    ``operands`` are the strides of each; the first that steps along both of two dimensions decides. Ties and repeated
    dimensions stay in place.
    """
    if operands and 0 not in operands[0] and len(set(operands[0])) == len(shape):
        return sorted(range(len(shape)), key=operands[0].__getitem__, reverse=True)
    order = list(reversed(range(len(shape))))  # innermost first

    def after(a: int, b: int) -> int:
        for strides in operands:
            if strides[a] and strides[b]:
                if strides[a] != strides[b]:
                    return -1 if strides[a] < strides[b] else 1
                if shape[a] > shape[b]:
                    return 1
        return 0

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


def in_order_of(y: np.ndarray, operands: Any) -> np.ndarray:
    """``y``, the result of an elementwise operator: dense, in the order of its operands' strides."""
    shape, n = y.shape, y.ndim
    if n < 2 or not y.size:
        return y if y.flags.c_contiguous else y.copy()
    first = operands[0] if operands else None  # decides, where it steps along every dimension
    if (y.flags.c_contiguous and type(first) is np.ndarray and first.shape == shape and first.flags.c_contiguous
            and 1 not in shape):
        return y
    strides = result_strides(shape, [a for a in operands if getattr(a, "ndim", 0)])
    if strides is None:
        return y
    if all(m == 1 or s == t * y.itemsize for m, s, t in zip(shape, y.strides, strides)):
        return y
    if type(y) is np.ndarray and y.size > _WORTH_TURNING:
        return copied_in_order(y, strides)
    out = blank(shape, y.dtype, strides, like=y)
    out[...] = y
    return out


_WORTH_TURNING = 1024


def copied_in_order(a: np.ndarray, strides: Any) -> np.ndarray:
    """A copy with these strides, in elements, which leave no gaps; transposed matrices are turned in squares."""
    order = sorted(range(a.ndim), key=strides.__getitem__, reverse=True)
    back = sorted(range(a.ndim), key=order.__getitem__)
    found: np.ndarray = K.in_order(a.transpose(order)).transpose(back)
    return K.restrided(found, a.shape, strides) if 1 in a.shape else found


def reshaped(a: Any, shape: Any) -> Any:
    """``a.reshape(shape)``; transposed matrices are turned in squares where they are copied."""
    if type(a) is np.ndarray and a.size > _WORTH_TURNING and not a.flags.c_contiguous:
        try:
            return a.reshape(shape, copy=False)
        except ValueError:
            a = K.in_order(a)
    return a.reshape(shape)


def result_strides(shape: tuple[int, ...], arrays: Any) -> tuple[int, ...] | None:
    """The strides, in elements, of an elementwise result; None where an operand has more dimensions."""
    if (all(a.shape == shape for a in arrays) and arrays and gapless(arrays[0])
            and all(a.strides == arrays[0].strides for a in arrays)):
        return tuple(s // arrays[0].itemsize for s in arrays[0].strides)
    rows = []
    for a in arrays:
        if a.ndim > len(shape):
            return None
        steps = [0 if s == 1 and t != 1 else step
            for s, t, step in zip(a.shape, shape[len(shape) - a.ndim :], a.strides)]
        rows.append((0,) * (len(shape) - a.ndim) + tuple(steps))
    return strides_for(shape, order_of(shape, rows))


def arranged(forward: Any, layout: Any) -> Any:
    """``forward`` with its results in a layout: see ``ops.operator``."""

    @wraps(forward)
    def call(*args: Any, **kwargs: Any) -> Any:
        y = forward(*args, **kwargs)
        if type(y) is not tuple:
            return lay(y, layout, args)
        if type(layout) is str:
            return tuple([lay(a, layout, args) for a in y])
        return tuple(a if kind is None else lay(a, kind, args)
            for a, kind in zip(y, (*layout, *(None,) * (len(y) - len(layout)))))

    return call


def lay(y: Any, kind: str, args: Any = ()) -> Any:
    """``y`` in a layout that has a name: see ``ops.operator``."""
    if _lies_by_rows(y, kind, args):
        return y
    if kind == "first":
        return in_order_of(y, args[:1])
    if kind == "columns":
        if y.ndim < 2:
            return y
        turned = y.swapaxes(-1, -2)
        return y if turned.flags.c_contiguous else _by_rows(turned).swapaxes(-1, -2)
    if kind != "rows":
        for a in args[:2]:
            if _innermost_channels(a, kind) if kind != "taps" or a is not args[0] else _seen_innermost(a):
                if type(y) is np.ndarray and y.ndim in _INSIDE_OUT:
                    return y if inside_out(y) is not None else outside_in(_by_rows(channels_inside(y)))
                return np.moveaxis(_by_rows(np.moveaxis(y, 1, -1)), -1, 1)
    return y if y.flags.c_contiguous else y.copy()


def _by_rows(y: Any) -> Any:
    """``in_rows``, by the kernel that copies transposed arrays in tiles."""
    return in_rows(y) if type(y) is not np.ndarray or y.flags.c_contiguous else K.in_order(y)


def _lies_by_rows(y: Any, kind: str, args: Any) -> bool:
    """Whether ``y`` lies row by row and, as one sees at once, should."""
    if type(y) is not np.ndarray or kind == "columns" or not y.flags.c_contiguous:
        return False
    if kind == "first":
        a = args[0]
        return type(a) is np.ndarray and a.flags.c_contiguous and a.shape == y.shape
    a, b = args[:2] if len(args) > 1 else (args[0], None)
    if type(a) is np.ndarray and (not a.flags.c_contiguous or (kind == "taps" and a.shape[1] == 1 and _one_inside(a))):
        return False
    return type(b) is not np.ndarray or bool(b.flags.c_contiguous)


def _innermost_channels(a: Any, kind: str) -> bool:
    if not has_memory(a) or a.flags.c_contiguous or (kind == "pictures" and a.ndim == 5):
        return False
    return seems(_line(a) if a.ndim == 3 and kind != "channels" else a) != "contiguous_format"


def _one_inside(a: np.ndarray) -> bool:
    """Whether the one channel of ``a``, which lies row by row, was innermost once: only the strides tell."""
    return a.ndim in (3, 4, 5) and a.strides[1] == a.itemsize


def _seen_innermost(a: Any) -> bool:
    """Whether a convolution sees the channels of its images innermost; rows of pixels, only if they lie so anyway."""
    if not has_memory(a) or (a.ndim == 3 and not a.flags.c_contiguous):
        return False
    if a.flags.c_contiguous and not (a.shape[1] == 1 and _one_inside(a)):
        return False
    return seems(_line(a) if a.ndim == 3 else a) != "contiguous_format"


def _line(a: Any) -> np.ndarray:
    """``(N, C, L)`` as images of one line."""
    shape, strides = (*a.shape[:2], 1, a.shape[2]), (*a.strides[:2], a.shape[2] * a.strides[2], a.strides[2])
    if type(a) in FOREIGN:
        return a.look(shape, strides, a.start())
    return np.lib.stride_tricks.as_strided(a, shape, strides)


def blank(shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None = None, make: Any = np.empty,
        like: Any = None) -> Any:
    """A new array with these strides (in elements), which must leave no gaps; ``make`` is ``np.empty`` or the like.

    ``like``: an array on whose device it is to be.
    """
    if type(like) in FOREIGN:
        plain = make(int(np.prod(shape)), dtype, like=like)
        steps = strides_for(shape, range(len(shape))) if strides is None else strides
        return plain.look(shape, [s * plain.itemsize for s in steps], 0)
    if strides is None:
        return make(shape, dtype)
    plain = make(int(np.prod(shape)), dtype)
    return np.ndarray(shape, dtype, plain, 0, [s * plain.itemsize for s in strides])


def _repeats_rows(a: np.ndarray) -> bool:
    """Whether ``a`` lies row by row, its elements repeated without a copy."""
    least, repeats = 0, False
    for step in reversed(a.strides):
        if not step:
            repeats = True
        elif step <= least:
            return False
        else:
            least = step
    return repeats


def layout_like(a: np.ndarray, kind: Any) -> tuple[int, ...] | None:
    """The strides of a new array in the shape of ``a`` in the format ``kind``; None where they are the usual ones."""
    name = "preserve_format" if kind is None else "contiguous_format" if kind is True else format_name(kind)
    if name == "contiguous_format":
        return None
    if name == "preserve_format":
        if 1 not in a.shape and (a.flags.c_contiguous or _repeats_rows(a)):
            return None
        kept = kept_strides(a)
        return None if kept == strides_for(a.shape, range(a.ndim)) else kept
    if name not in _RANK:
        raise TypeError(f"argument 'memory_format' must be torch.memory_format, not {type(kind).__name__}")
    return format_strides(a.shape, kind)
