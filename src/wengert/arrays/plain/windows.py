"""Sliding windows over images of any number of spatial axes: im2col, col2im, max pooling and its gradient.

``x`` is ``(N, C, *size)``; ``kernel``, ``stride``, ``padding`` and ``dilation`` are tuples with one entry for each
spatial axis. All dtypes.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.array_likes import in_rows, new_filled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from wengert.arrays.plain.widen import Array

    Ints = tuple[int, ...]


def window_counts(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool = False) -> Ints:
    """Return the number of windows along each spatial axis, by PyTorch's rule for ``ceil_mode``."""
    counts = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        count = -(-room // s) + 1 if ceil else room // s + 1
        if ceil and (count - 1) * s >= n + p:  # the last window must start inside the input or its left padding
            count -= 1
        counts.append(count)
    return tuple(counts)


def _offsets(kernel: Ints, dilation: Ints) -> Iterator[Ints]:
    """Yield the places within the window, in row-major order."""
    return itertools.product(*(range(0, k * d, d) for k, d in zip(kernel, dilation, strict=True)))


def _slices(offset: Ints, counts: Ints, stride: Ints) -> tuple[Any, ...]:
    return (..., *(slice(o, o + (n - 1) * s + 1, s) for o, n, s in zip(offset, counts, stride, strict=True)))


def im2col(x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Array:
    """Return the windows of ``x`` as columns: ``(N, C * prod(kernel), number of windows)``."""
    n, c, *size = x.shape
    counts = window_counts(tuple(size), kernel, stride, padding, dilation)
    if any(padding):
        x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    columns = new_filled(x, np.empty, (n, c, math.prod(kernel), *counts), x.dtype)
    for place, offset in enumerate(_offsets(kernel, dilation)):
        columns[:, :, place] = x[_slices(offset, counts, stride)]
    return columns.reshape(n, c * math.prod(kernel), math.prod(counts))


def col2im(columns: Array, size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Array:
    """Add columns back to their windows: the transpose of ``im2col``. Returns ``(N, C, *size)``."""
    n, c = columns.shape[0], columns.shape[1] // math.prod(kernel)
    counts = window_counts(size, kernel, stride, padding, dilation)
    columns = columns.reshape(n, c, math.prod(kernel), *counts)
    around = [s + 2 * p for s, p in zip(size, padding, strict=True)]
    padded = new_filled(columns, np.zeros, (n, c, *around), columns.dtype)
    for place, offset in enumerate(_offsets(kernel, dilation)):
        padded[_slices(offset, counts, stride)] += columns[:, :, place]
    inside: tuple[Any, ...] = (..., *(slice(p, p + s) for s, p in zip(size, padding, strict=True)))
    return in_rows(padded[inside])
