"""Convolution and its two gradients as matrix products with columns of windows.

``x`` is ``(N, C, *size)``, ``weight`` ``(O, C / groups, *kernel)``; ``stride``, ``padding`` and ``dilation`` are tuples
with one entry for each spatial axis. Real and complex dtypes that NumPy multiplies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.array_likes import new_filled
from wengert.arrays.plain import windows

if TYPE_CHECKING:
    from collections.abc import Callable

    from wengert.arrays.plain.widen import Array
    from wengert.arrays.plain.windows import Ints


def pointwise(kernel: Ints, stride: Ints, padding: Ints) -> bool:
    """Whether every window is one element: then the columns are the input."""
    return all(k == 1 for k in kernel) and all(s == 1 for s in stride) and not any(padding)


class ByColumns:
    """The three functions, given how the windows of an image become columns and columns are added to an image."""

    def __init__(self, im2col: Callable[..., Array], col2im: Callable[..., Array]) -> None:
        self.im2col, self.col2im = im2col, col2im

    def _columns(self, x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Array:
        """Windows of ``x`` as ``(N, groups, C / groups * prod(kernel), L)``."""
        n, c = x.shape[:2]
        columns = (x.reshape(n, c, -1) if pointwise(kernel, stride, padding)
            else self.im2col(x, kernel, stride, padding, dilation))
        return columns.reshape(n, groups, columns.shape[1] // groups, columns.shape[2])

    def conv(self, x: Array, weight: Array, bias: Array | None, stride: Ints, padding: Ints, dilation: Ints,
            groups: int) -> Array:
        """Return the cross-correlation ``(N, O, *size)`` of ``x`` with the filters, plus ``bias`` for each."""
        size = windows.window_counts(x.shape[2:], weight.shape[2:], stride, padding, dilation)
        o = weight.shape[0]
        if 0 in x.shape or 0 in weight.shape or 0 in size:
            y = new_filled(x, np.zeros, (x.shape[0], o, *size), x.dtype)
        else:
            columns = self._columns(x, weight.shape[2:], stride, padding, dilation, groups)
            y = np.matmul(weight.reshape(groups, o // groups, -1), columns).reshape(x.shape[0], o, *size)
        return y if bias is None else np.add(y, bias.reshape((1, -1) + (1,) * (y.ndim - 2)), out=y)

    def conv_input(self, g: Array, weight: Array, shape: Ints, stride: Ints, padding: Ints, dilation: Ints,
            groups: int) -> Array:
        """Return the gradient of a convolution in its input, of that ``shape``: the transposed convolution of ``g``."""
        n, o = g.shape[:2]
        if 0 in g.shape or 0 in weight.shape or 0 in shape:
            return new_filled(g, np.zeros, shape, g.dtype)
        rows = weight.reshape(groups, o // groups, -1)
        columns = np.matmul(rows.swapaxes(1, 2), g.reshape(n, groups, o // groups, -1))
        columns = columns.reshape(n, -1, columns.shape[-1])
        kernel = weight.shape[2:]
        if pointwise(kernel, stride, padding):
            return columns.reshape(shape)
        return self.col2im(columns, tuple(shape[2:]), kernel, stride, padding, dilation)

    def conv_weight(self, x: Array, g: Array, shape: Ints, stride: Ints, padding: Ints, dilation: Ints,
            groups: int) -> Array:
        """Return the gradient of a convolution in its filters, which have ``shape``."""
        n, o = g.shape[:2]
        if 0 in g.shape or 0 in x.shape or 0 in shape:
            return new_filled(g, np.zeros, shape, g.dtype)
        columns = self._columns(x, shape[2:], stride, padding, dilation, groups)
        rows = g.reshape(n, groups, o // groups, -1)
        return np.matmul(rows, columns.swapaxes(2, 3)).sum(0).reshape(shape)


_by_columns = ByColumns(windows.im2col, windows.col2im)
conv, conv_input, conv_weight = _by_columns.conv, _by_columns.conv_input, _by_columns.conv_weight
