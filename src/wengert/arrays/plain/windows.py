"""Sliding windows over images: as columns, in convolutions, and pooled to their maximum or average.

``x`` is ``(N, C, *size)`` with any number of spatial axes; ``kernel``, ``stride``, ``padding`` and ``dilation`` have
one entry for each. A convolution's ``weight`` is ``(O, C / groups, *kernel)``.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.array_likes import counted, in_rows, new_filled
from wengert.arrays.plain import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from wengert.arrays.plain.widen import Array

    Ints = tuple[int, ...]


def window_counts(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool = False) -> Ints:
    """Return the number of windows along each spatial axis, by PyTorch's rule for ``ceil_mode``."""
    try:
        return _window_counts(size, kernel, stride, padding, dilation, ceil)
    except TypeError:  # lists
        return _window_counts(tuple(size), tuple(kernel), tuple(stride), tuple(padding), tuple(dilation), ceil)


@lru_cache(maxsize=1024)
def _window_counts(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool) -> Ints:
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


def add_windows(windows: Array, size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Array:
    """Add windows ``(N, L, C * prod(kernel))`` back to where they were seen: ``col2im`` of windows in rows."""
    return col2im(windows.swapaxes(1, 2), size, kernel, stride, padding, dilation)


def pointwise(kernel: Ints, stride: Ints, padding: Ints) -> bool:
    """Whether every window is one element: then the columns are the input."""
    return all(k == 1 for k in kernel) and all(s == 1 for s in stride) and not any(padding)


def product_in_parts(a: Array, b: Array) -> Array:
    """``a @ b``; long sums are put together from parts, as the error of one sum grows with its length."""
    depth = a.shape[-1]
    part = max(24, round(depth ** (2 / 3)))
    found = np.matmul(a[..., :part], b[..., :part, :])
    for k in range(part, depth, part):
        found += np.matmul(a[..., k : k + part], b[..., k : k + part, :])
    return found  # type: ignore[no-any-return]


class ByColumns:
    """The three functions, given how the windows of an image become columns and columns, or rows, are added to one.

    ``product``: that of ``conv_input``, which adds up over filters.
    """

    def __init__(self, im2col: Callable[..., Array], col2im: Callable[..., Array], add_windows: Callable[..., Array],
            product: Callable[[Array, Array], Array] = np.matmul) -> None:
        self.im2col, self.col2im, self.add_windows, self.product = im2col, col2im, add_windows, product

    def _columns(self, x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Array:
        """Windows of ``x`` as ``(N, groups, C / groups * prod(kernel), L)``."""
        n, c = x.shape[:2]
        columns = (x.reshape(n, c, -1) if pointwise(kernel, stride, padding)
            else self.im2col(x, kernel, stride, padding, dilation))
        return columns.reshape(n, groups, columns.shape[1] // groups, columns.shape[2])

    def conv(self, x: Array, weight: Array, bias: Array | None, stride: Ints, padding: Ints, dilation: Ints,
            groups: int) -> Array:
        """Return the cross-correlation ``(N, O, *size)`` of ``x`` with the filters, plus ``bias`` for each."""
        size = window_counts(x.shape[2:], weight.shape[2:], stride, padding, dilation)
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
        if groups == dilation[-1] == 1 and weight.shape[-1] > g.shape[-1]:  # more taps in a row than windows
            seen = self.product(g.reshape(n, o, -1).swapaxes(1, 2), weight.reshape(o, -1))
            return self.add_windows(seen, tuple(shape[2:]), weight.shape[2:], stride, padding, dilation)
        rows = weight.reshape(groups, o // groups, -1)
        columns = self.product(rows.swapaxes(1, 2), g.reshape(n, groups, o // groups, -1))
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


_by_columns = ByColumns(im2col, col2im, add_windows)
conv, conv_input, conv_weight = _by_columns.conv, _by_columns.conv_input, _by_columns.conv_weight


def conv_then(x: Array, weight: Array, bias: Array | None, stride: Ints, padding: Ints, dilation: Ints, groups: int,
        norm: tuple[Array, Array, Array | None, Array | None] | None, then: str) -> Array:
    """``conv``, ``channel_norm`` of it by ``norm`` (mean, rstd, weight, bias), if any, and ``then`` of that, if any."""
    value = conv(x, weight, bias, stride, padding, dilation, groups)
    return rows.activated(value, then) if norm is None else rows.channel_norm(value, *norm, then)


def in_single(convolution: Callable[..., Array]) -> Callable[..., Array]:
    """The convolution of numbers of 16 bits, or a gradient of it: in float32, rounded once."""

    def rounded(x: Array, other: Array, *given: Any) -> Array:
        """In float32, rounded once."""
        bias = [a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in given[:1]]  # or a shape
        found = convolution(x.astype(np.float32), other.astype(np.float32), *bias, *given[1:])
        return found.astype(x.dtype)

    return rounded


half_conv, half_conv_input, half_conv_weight = in_single(conv), in_single(conv_input), in_single(conv_weight)


def _seen(size: Ints, counts: Ints, kernel: Ints, stride: Ints, padding: Ints,
        dilation: Ints) -> Iterator[tuple[Any, Any]]:
    """For each place of a window that sees the image somewhere: the windows where it does, and what they see there."""

    def along(n: int, m: int, k: int, s: int, p: int, d: int) -> list[tuple[slice, slice]]:
        found = []
        for at in range(max(0, -((m - 1) * s - p) // d), min(k, (p + n - 1) // d + 1)):
            offset = at * d - p
            first, last = max(0, -(offset // s)), min(m, (n - 1 - offset) // s + 1)
            if first < last:
                found.append((slice(first, last), slice(offset + first * s, offset + (last - 1) * s + 1, s)))
        return found

    axes = [along(*axis) for axis in zip(size, counts, kernel, stride, padding, dilation, strict=True)]
    for places in itertools.product(*axes):
        yield (..., *(windows for windows, _ in places)), (..., *(image for _, image in places))


def max_pool(x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
        ceil_mode: bool = False) -> tuple[Array, Array]:
    """Return the maximum of each window and its flat place (int64) within the spatial axes. NaN counts as largest.

    ``x`` is ``(N, C, *size)``, or without ``N``.
    """
    lead, size = x.shape[: -len(kernel)], x.shape[-len(kernel) :]
    counts = window_counts(size, kernel, stride, padding, dilation, ceil_mode)
    lowest = -np.inf if x.dtype.kind not in "iub" else np.iinfo(x.dtype).min
    places = counted(x, math.prod(size)).reshape(size)
    best = np.full_like(x, lowest, order="C", shape=(*lead, *counts))
    index = np.full_like(x, -1, np.int64, "C", shape=(*lead, *counts))
    for windows, image in _seen(size, counts, kernel, stride, padding, dilation):
        value, so_far, at = x[image], best[windows], index[windows]
        # "at < 0" takes the first place inside the image even where every value is the lowest there is.
        better = (value > so_far) | (value != value) | (at < 0)
        np.copyto(so_far, value, where=better)
        np.copyto(at, places[image], where=better)
    return best, index


def max_pool_values(x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
        ceil_mode: bool = False) -> Array:
    """``max_pool`` without the places."""
    return max_pool(x, kernel, stride, padding, dilation, ceil_mode)[0]


def max_pool_grad(g: Array, index: Array, size: Ints) -> Array:
    """Send each window's gradient to the place its maximum came from. Returns ``(N, C, *size)``, or without ``N``."""
    lead = g.shape[: -len(size)]
    planes, area = math.prod(lead), math.prod(size)
    flat = (index.reshape(planes, math.prod(index.shape[-len(size) :])) + area * counted(g, planes)[:, None]).ravel()
    grad = new_filled(g, np.zeros, planes * area, g.dtype)
    np.add.at(grad, flat, g.ravel())
    return grad.reshape(*lead, *size)


def _divisors(size: Ints, counts: Ints, kernel: Ints, stride: Ints, padding: Ints, include: bool,
        override: float | None) -> Any:
    """How many elements each window averages over."""
    if override is not None:
        return float(override)
    total: Any = 1.0
    for axis, (s, m, k, t, p) in enumerate(zip(size, counts, kernel, stride, padding, strict=True)):
        start = np.arange(m) * t - p
        stop = np.minimum(start + k, s + p)
        if not include:
            start, stop = np.maximum(start, 0), np.minimum(stop, s)
        total = total * (stop - start).reshape([-1 if a == axis else 1 for a in range(len(counts))])
    return total


def avg_pool(x: Array, ceil: bool, kernel: Ints, stride: Ints, padding: Ints, include: bool,
        override: float | None) -> Array:
    """The averages of windows; ``include``: padding counts; ``override``: what to divide by instead.

    Half precision is added up in float32; averages of whole numbers are cut to whole numbers.
    """
    size = x.shape[-len(kernel) :]
    counts = window_counts(size, kernel, stride, padding, (1,) * len(kernel), ceil)
    wide = np.float32 if x.dtype.itemsize == 2 else x.dtype
    total = new_filled(x, np.zeros, (*x.shape[: -len(counts)], *counts), wide)
    for windows, image in _seen(size, counts, kernel, stride, padding, (1,) * len(kernel)):
        total[windows] += x[image]
    divisors = _divisors(size, counts, kernel, stride, padding, include, override)
    with np.errstate(all="ignore"):
        if total.dtype.kind in "iu":
            return np.trunc(total / divisors).astype(x.dtype)  # type: ignore[no-any-return]
        total /= divisors
    return total.astype(x.dtype, copy=False)


def avg_pool_grad(g: Array, size: Ints, kernel: Ints, stride: Ints, padding: Ints, include: bool,
        override: float | None) -> Array:
    """The transpose of ``avg_pool``: each window's gradient in equal parts. Returns ``(N, C, *size)``, or no ``N``."""
    counts, kind = g.shape[-len(size) :], g.dtype
    g = g.astype(np.float32) if g.dtype.itemsize == 2 else g
    with np.errstate(all="ignore"):
        share = (g / _divisors(size, counts, kernel, stride, padding, include, override)).astype(g.dtype, copy=False)
    grad = new_filled(g, np.zeros, (*g.shape[: -len(size)], *size), g.dtype)
    for windows, image in _seen(size, counts, kernel, stride, padding, (1,) * len(kernel)):
        grad[image] += share[windows]
    return grad.astype(kind, copy=False)


def _between(edges: tuple[Array, ...]) -> Iterator[tuple[Any, Any]]:
    """Yield the place of each window, and the part of an image that it sees."""
    for at in itertools.product(*(range(e.shape[2]) for e in edges)):
        yield (..., *at), (..., *(slice(int(e[0, 0, i]), int(e[0, 1, i])) for e, i in zip(edges, at, strict=True)))


def largest_between(x: Array, edges: tuple[Array, ...]) -> tuple[Array, Array]:
    """Return the largest number of each window and its flat place in the image: of equals the first, of NaN the last.

    ``edges``: for each spatial axis an array ``(1, 2, windows)`` of where windows begin and end; or one of
    ``(N * C, 2, windows)``, where each image of one channel has its own.
    """
    (n, c), space, counts = x.shape[:2], x.shape[2:], [e.shape[2] for e in edges]
    values, places = np.empty((n, c, *counts), x.dtype), np.empty((n, c, *counts), np.int64)
    if any(len(e) > 1 for e in edges):
        images = [largest_between(image[None, None], tuple([e[i % len(e)][None] for e in edges]))
            for i, image in enumerate(x.reshape(n * c, *space))]
        for i, (value, place) in enumerate(images):
            values[i // c, i % c], places[i // c, i % c] = value[0, 0], place[0, 0]
        return values, places
    flat = np.arange(math.prod(space)).reshape(space)
    for at, seen in _between(edges):
        block = x[seen]
        block = block.reshape(n, c, math.prod(block.shape[2:]))
        best, nan = block.argmax(2), np.isnan(block)
        if nan.any():
            best = np.where(nan.any(2), block.shape[2] - 1 - nan[:, :, ::-1].argmax(2), best)
        values[at] = np.take_along_axis(block, best[..., None], 2)[..., 0]
        places[at] = flat[seen].reshape(-1)[best]
    return values, places


def mean_between(x: Array, edges: tuple[Array, ...]) -> Array:
    """Return the average of each window of ``(N, C, *size)``; ``edges`` as in ``largest_between``, the same for all."""
    out = new_filled(x, np.empty, (*x.shape[:2], *[e.shape[2] for e in edges]), x.dtype)
    axes = tuple(range(2, x.ndim))
    for at, seen in _between(edges):
        out[at] = x[seen].mean(axes)
    return out


def spread_between(g: Array, edges: tuple[Array, ...], size: Ints) -> Array:
    """The transpose of ``mean_between``: each window's number in equal parts. Returns ``(N, C, *size)``."""
    out, axes = new_filled(g, np.zeros, (*g.shape[:2], *size), g.dtype), (..., *(None,) * len(size))
    for at, seen in _between(edges):
        out[seen] += (g[at] / math.prod(out[seen].shape[2:]))[axes]
    return out
