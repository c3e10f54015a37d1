"""Pooling: windows reduced to one number each."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.dtypes import F32, is_half, scalar_name
from ..arrays.errors import alert
from ..arrays.storageless import zeros_if_storageless
from .operator import Array, family
from .views import unseen
from .window_checks import adaptive, adaptive_size, batched, prepare, window

operator, composite = family("functional")


# -- maxima -----------------------------------------------------------------------------------------------------------


@operator(grad=dict(input=lambda F, g, indices, dims: F.pool_gather(g, indices, dims)), places=(),
    node="MaxPool2DWithIndicesBackward0")
def pool_scatter(input: Array, indices: Array, shape, dims):
    """Each number of ``input`` added at its flat place ``indices`` within the last ``dims`` dimensions of ``shape``."""
    return K.max_pool_grad(input, indices, tuple(shape[-dims:]))


@operator(grad=dict(input=lambda F, g, indices, input_shape, dims: F.pool_scatter(g, indices, input_shape, dims)),
    places=())
def pool_gather(input: Array, indices: Array, dims):
    """The numbers at flat places ``indices`` within the last ``dims`` dimensions."""
    lead = input.shape[:-dims]
    volume, count = math.prod(input.shape[-dims:]), math.prod(indices.shape[-dims:])
    return np.take_along_axis(input.reshape(*lead, volume), indices.reshape(*lead, count), -1).reshape(indices.shape)


def _node(kind: str, n: int) -> dict[str, Any]:
    """What a composite says of PyTorch's node. One dimension is pooled as two, by the composite of two."""
    return {} if n == 1 else dict(node=kind.replace("#", str(n)) + "Backward0", whole=("input",))


def _as_two(F: Any, pool: Any, input: Any, *sizes: Any, **options: Any) -> Any:
    """``pool`` of two dimensions, the first of which is 1; ``sizes`` are those of the second."""
    found = pool(F.unsqueeze(input, -2), *sizes, **options)
    return tuple(F.squeeze(x, -2) for x in found) if isinstance(found, tuple) else F.squeeze(found, -2)


def _pool_back(kind: str, size: str) -> dict[str, Any]:
    """The rule of a maximum; ``size`` names an argument that has a number for each dimension of an image."""

    @composite(name=f"{kind}_back", places=(),
        raw=lambda g, input, indices, dims: K.max_pool_grad(g, indices, input.shape[-dims:]))
    def back(F, g, input, indices, dims):
        return F.kept(F.pool_scatter(g, indices, tuple(input.shape), dims), True, input)

    if size == "kernel":
        return dict(input=lambda F, g, input, indices, kernel: getattr(F, f"{kind}_back")(g, input, indices,
            len(kernel)))
    return dict(input=lambda F, g, input, indices, size: getattr(F, f"{kind}_back")(g, input, indices, len(size)))


_two: dict = dict(outputs=("result", "indices"), nondifferentiable=("indices",), places=(),
    node="MaxPool2DWithIndicesBackward0")


def _of_whole(input: Array, kernel: Any, padding: Any, dilation: Any) -> tuple[Array, Array] | None:
    """The largest number of each image and its place, if the one window is all of the image."""
    n = len(kernel)
    if (tuple(kernel) != input.shape[-n:] or any(padding) or max(dilation) > 1 or type(input) is not np.ndarray
            or input.dtype.char not in "fd" or not input.flags.c_contiguous or input.size <= len(input)):
        return None
    lead = input.shape[:-n]
    found = K.extreme(input.reshape(*lead, math.prod(kernel)), len(lead), False, False)
    values, places = (a.reshape(*lead, *(1,) * n) for a in found)
    return values, places


def _largest(input: Array, kernel: Any, stride: Any, padding: Any, dilation: Any,
        ceil_mode: Any) -> tuple[Array, Array]:
    found = _of_whole(input, kernel, padding, dilation)
    if found is not None and (found[0] == found[0]).all():  # among NaN, the last counts
        return found
    return K.max_pool(input, kernel, stride, padding, dilation, ceil_mode)


@operator(grad=_pool_back("MaxPool#DWithIndices", "kernel"),
    shows=("stride", "padding", "dilation", "ceil_mode"), layout="lines", **_two)
def max_pool_windows(input: Array, kernel, stride, padding, dilation, ceil_mode):
    return _largest(input, kernel, stride, padding, dilation, ceil_mode)


@operator(places=(), grad=dict(
    input=lambda F, g, input, kernel, stride, padding, dilation, ceil_mode: F.pool_scatter(g, F.max_pool_windows(input,
        kernel, stride, padding, dilation, ceil_mode)[1], tuple(input.shape), len(kernel))))
def max_pool_values(input: Array, kernel, stride, padding, dilation, ceil_mode):
    """The maxima alone, row by row, for calls that want neither their places nor a gradient."""
    found = _of_whole(input, kernel, padding, dilation)
    if found is not None:
        return found[0]
    return K.max_pool_values(input, kernel, stride, padding, dilation, ceil_mode)


def _max_pools(n: int) -> None:
    def pooled(F: Any, name: str, input: Any, kernel: Any, stride: Any, padding: Any, dilation: Any,
            ceil_mode: bool, places: bool = True) -> Any:
        how = prepare(name, n, tuple(input.shape), kernel, stride, padding, dilation, ceil_mode)
        alone = n == 1 and unseen(F, input)
        if alone and not places and not F.raw:
            return F.max_pool_values(input, *how, bool(ceil_mode)), None
        if n == 1 and not alone:
            how = tuple((one, *row) for one, row in zip((1, 1, 0, 1), how))
            return _as_two(F, F.max_pool_windows, input, *how, bool(ceil_mode))
        values, indices = F.max_pool_windows(input, *how, bool(ceil_mode))
        return values, indices

    both = "max_pool1d_with_indices" if n == 1 else f"max_pool{n}d"  # the name in what is refused

    def plain(F, input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        name = both if return_indices else f"max_pool{n}d"
        found = pooled(F, name, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
        return found if return_indices else found[0]

    def indexed(F, input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=True):
        return pooled(F, both, input, kernel_size, stride, padding, dilation, ceil_mode)

    def plan(shape: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
            return_indices: bool) -> Any:
        if return_indices:
            return None
        return *prepare(f"max_pool{n}d", n, shape, kernel_size, stride, padding, dilation, ceil_mode), ceil_mode

    plain.__doc__ = f"The maximum of each window of the last {n} dimensions; with ``return_indices`` also its place."
    indexed.__doc__ = f"The maximum of each window of the last {n} dimensions and its place."
    composite(plain, name=f"max_pool{n}d", places=("torch", "functional"), **_node("MaxPool#DWithIndices", n),
        plan=("max_pool_values", plan, True) if n == 1 else ("max_pool_windows", plan))
    composite(indexed, name=f"max_pool{n}d_with_indices", **_node("MaxPool#DWithIndices", n))


def _edges(size: int, out: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each of ``out`` adaptive windows begins and ends."""
    i = np.arange(out)
    return i * size // out, -((-(i + 1) * size) // out)


@lru_cache(256)
def _all_edges(space: tuple[int, ...], size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """The same for each dimension, as kernels have it: ``(1, 2, out)``."""
    return tuple([np.stack(_edges(s, o))[None] for s, o in zip(space, size)])


@operator(grad=_pool_back("AdaptiveMaxPool#D", "size"), **_two, layout="pictures")
def adaptive_max_windows(input: Array, size):
    space = input.shape[2:]
    even = all(o and s % o == 0 for s, o in zip(space, size))
    if even and input.size and input.dtype.char in "fd":  # windows of one size, side by side
        kernel = tuple([s // o for s, o in zip(space, size)])
        return _largest(input, kernel, kernel, (0,) * len(kernel), (1,) * len(kernel), False)
    return K.largest_between(input, _all_edges(tuple(space), tuple(size)))


def _adaptive_max(n: int) -> None:
    def plan(shape: Any, output_size: Any, return_indices: Any) -> Any:
        size = adaptive_size(shape, n, f"adaptive_max_pool{n}d", output_size)
        return (size,) if len(shape) == n + 2 and not return_indices and 0 not in shape and n > 1 else None

    def plain(F, input, output_size, return_indices=False):
        x, whole, size = adaptive(F, input, n, f"adaptive_max_pool{n}d", output_size)
        if n == 1:
            return _as_two(F, F.adaptive_max_pool2d, input, (1, *size), return_indices)
        found = F.adaptive_max_windows(x, size)
        values, indices = found if whole else (F.squeeze(found[0], 0), F.squeeze(found[1], 0))
        return (values, indices) if return_indices else values

    def indexed(F, input, output_size, return_indices=True):
        return plain(F, input, output_size, True)

    plain.__doc__ = (f"The maximum of windows of the last {n} dimensions, sized so that ``output_size`` numbers come "
        "out.")
    indexed.__doc__ = plain.__doc__ + " With their places."
    composite(plain, name=f"adaptive_max_pool{n}d", **_node("AdaptiveMaxPool#D", n),
        plan=("adaptive_max_windows", plan, True))
    composite(indexed, name=f"adaptive_max_pool{n}d_with_indices", **_node("AdaptiveMaxPool#D", n))


def _unpools(n: int) -> None:
    def unpool(F, input, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel = window(kernel_size, n, "kernel_size")
        stride = kernel if stride is None else window(stride, n, "stride")
        padding = window(padding, n, "padding")
        if F.dtype_of(indices) != np.int64:
            raise RuntimeError(f"elements in indices should be type int64 but got: {scalar_name(F.dtype_of(indices))}")
        space = input.shape[-n:]
        size = tuple((a - 1) * s - 2 * p + k for a, s, p, k in zip(space, stride, padding, kernel))
        if output_size is not None:
            asked = tuple(output_size)[-n:]
            for want, natural, step in zip(asked, size, stride):
                if not natural - step < want < natural + step:
                    raise ValueError(f'invalid output_size "{asked}" (dim 0 must be between {natural - step} and '
                        f'{natural + step})')
            size = asked
        if tuple(indices.shape) != tuple(input.shape):
            raise RuntimeError("Expected shape of indices to be same as that of the input tensor "
                f"({list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}")
        x, whole = batched(F, input, n, f"max_unpool{n}d")
        if n == 1:
            return _as_two(F, F.max_unpool2d, input, F.unsqueeze(indices, -2), (1, *kernel), (1, *stride),
                (0, *padding), (1, *size))
        alert(f"max_unpooling{n}d_forward_out")
        (b, c), area = x.shape[:2], math.prod(size)
        raw = zeros_if_storageless(indices if F.raw else indices._wg_data)
        if not K.within(raw, 0, area - 1):
            raise RuntimeError(f"Found an invalid max index: {int(raw.max())} (output volumes are of size "
                f"{'x'.join(map(str, size))})")
        flat = F.scatter(F.new_zeros(x, (b, c, area)), 2, F.reshape(indices, (b, c, -1)), F.reshape(x, (b, c, -1)))
        y = F.reshape(flat, (b, c, *size))
        return y if whole else F.squeeze(y, 0)

    unpool.__doc__ = f"The partial inverse of ``max_pool{n}d``: each maximum at its place, zeros elsewhere."
    composite(unpool, name=f"max_unpool{n}d", layout="channels" if n == 2 else "rows", **_node("MaxUnpool#D", n))


@operator(grad=_pool_back("FractionalMaxPool#D", "size"), shows=("kernel",), layout="rows", **_two)
def fractional_windows(input: Array, kernel, size, samples):
    n, c, *space = input.shape
    starts = []
    for axis, (s, k, o) in enumerate(zip(space, kernel, size)):
        u = samples[:, :, axis].astype(np.float64)
        alpha = (s - k) / (o - 1) if o > 1 else 0.0
        i = np.arange(o)
        row = ((i + u[..., None]) * alpha).astype(np.int64) - (u[..., None] * alpha).astype(np.int64)
        row[..., -1] = s - k
        starts.append(row)
    edges = [np.stack((row, row + k), 2).reshape(n * c, 2, -1) for row, k in zip(starts, kernel)]
    return K.largest_between(input, tuple(edges))


# -- averages ---------------------------------------------------------------------------------------------------------


@composite(places=(), raw=lambda g, input, *how: K.avg_pool_grad(g, input.shape[-len(how[0]) :], *how[:3], *how[4:]))
def avg_pool_back(F, g, input, *how):
    return F.kept(F.avg_pool_spread(g, tuple(input.shape), *how), True, input)


@operator(places=(), node="AvgPool2DBackward0", linear=True, layout="pictures", grad=dict(
    input=lambda F, g, input, kernel, stride, padding, ceil_mode, include, override: F.avg_pool_back(g, input, kernel,
        stride, padding, ceil_mode, include, override)))
def avg_pool_windows(input: Array, kernel, stride, padding, ceil_mode, include, override):
    return K.avg_pool(input, ceil_mode, kernel, stride, padding, include, override)


@operator(places=(), linear=True, grad=dict(
    input=lambda F, g, kernel, stride, padding, ceil_mode, include, override: F.avg_pool_windows(g, kernel, stride,
        padding, ceil_mode, include, override)))
def avg_pool_spread(input: Array, shape, kernel, stride, padding, ceil_mode, include, override):
    """The adjoint of an average: every element of a window gets its share."""
    return K.avg_pool_grad(input, tuple(shape[-len(kernel) :]), kernel, stride, padding, include, override)


def _avg_pools(n: int) -> None:
    def plan(shape: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: Any, count_include_pad: Any,
            divisor_override: Any) -> Any:
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        how = prepare(f"avg_pool{n}d", n, shape, kernel_size, stride, padding, 1, ceil_mode)[:3]
        return *how, bool(ceil_mode), bool(count_include_pad), divisor_override

    def pool(F, input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
            divisor_override=None):
        *how, ceil, include, divisor = plan(tuple(input.shape), kernel_size, stride, padding, ceil_mode,
            count_include_pad, divisor_override)
        rest = ceil, include, divisor
        if n == 1 and not unseen(F, input):
            how = tuple((one, *row) for one, row in zip((1, 1, 0), how))
            return _as_two(F, F.avg_pool_windows, input, *how, *rest)
        return F.avg_pool_windows(input, *how, *rest)

    pool.__doc__ = f"The average of each window of the last {n} dimensions."
    composite(pool, name=f"avg_pool{n}d", places=("torch", "functional") if n == 1 else ("functional",),
        **_node("AvgPool#D", n), plan=("avg_pool_windows", plan, *[True] * (n == 1)))


@operator(places=(), linear=True, layout="pictures", node="AdaptiveAvgPool2DBackward0",
    grad=dict(input=lambda F, g, input_shape, size: F.adaptive_avg_spread(g, input_shape[2:], size)))
def adaptive_avg_windows(input: Array, size):
    return K.mean_between(input, _all_edges(input.shape[2:], tuple(size)))


@operator(places=(), linear=True, layout="pictures",
    grad=dict(input=lambda F, g, space, size: F.adaptive_avg_windows(g, size)))
def adaptive_avg_spread(input: Array, space, size):
    """The adjoint of an adaptive average: every element of a window gets its share."""
    return K.spread_between(input, _all_edges(tuple(space), tuple(size)), tuple(space))


def _adaptive_avg(n: int) -> None:
    def plan(shape: Any, output_size: Any) -> Any:
        size, space = adaptive_size(shape, n, f"adaptive_avg_pool{n}d", output_size), shape[-n:]
        if 0 in shape or 0 in size or (len(shape) < n + 2 and max(size) > 1):
            return None
        if max(size) == 1:
            return "mean_dim", tuple(range(len(shape) - n, len(shape))), True, None
        if any(s % o for s, o in zip(space, size)):
            return "adaptive_avg_windows", size
        kernel = tuple(s // o for s, o in zip(space, size))
        return "avg_pool_windows", kernel, kernel, (0,) * n, False, True, None

    def pool(F, input, output_size):
        x, whole, size = adaptive(F, input, n, f"adaptive_avg_pool{n}d", output_size)
        if n == 1 and not unseen(F, input):
            return _as_two(F, F.adaptive_avg_pool2d, input, (1, *size))
        space = tuple(x.shape[2:])
        if F.dtype_of(x).kind == "b" and 0 in x.shape:
            y = F.new_zeros(x, (*x.shape[:2], *size))
        elif all(o and s % o == 0 for s, o in zip(space, size)):
            kernel = tuple(s // o for s, o in zip(space, size))
            y = (F.mean(x, tuple(range(2, 2 + n)), True) if kernel == space
                else F.avg_pool_windows(x, kernel, kernel, (0,) * n, False, True, None))
        else:
            d = F.dtype_of(x)
            y = F.adaptive_avg_windows(F.cast(x, F32) if is_half(d) else x, size)
            y = F.cast(y, d) if is_half(d) else y
        return y if whole else F.squeeze(y, 0)

    pool.__doc__ = f"The average of windows of the last {n} dimensions, sized so that ``output_size`` numbers come out."
    places = ("torch", "functional") if n == 1 else ("functional",)
    layout = "lines" if n == 1 else "channels"
    composite(pool, name=f"adaptive_avg_pool{n}d", places=places, layout=layout, **_node("AdaptiveAvgPool#D", n),
        plan=(None, plan, True))


def along(F: Any, x: Any, axis: int, matrix: Any) -> Any:
    """``x`` with a constant matrix ``(size, out)`` applied along one axis."""
    return F.resampled(x, axis - x.ndim, matrix)


@operator(grad=dict(input=lambda F, g, axis, matrix: F.resampled(g, axis, matrix.T)), places=(), linear=True,
    node="MmBackward0")
def resampled(input: Array, axis, matrix):
    """``input`` times ``matrix`` along ``axis``; what is not finite goes only where the matrix is not zero."""
    x = input.swapaxes(axis, -1)
    y = np.matmul(x, matrix)
    total = K.sum(y, None, False)
    if total - total != 0:  # something is not finite
        y = np.stack([(x[..., row != 0] * row[row != 0]).sum(-1) for row in matrix.T], -1)
    return y.swapaxes(axis, -1)


def _lp_pools(n: int) -> None:
    def pool(F, input, norm_type, kernel_size, stride=None, ceil_mode=False):
        kernel = window(kernel_size, n, "kernel_size")
        if abs(norm_type) == math.inf:
            sign = 1 if norm_type > 0 else -1
            return sign * getattr(F, f"max_pool{n}d")(sign * F.abs(input), kernel, stride, 0, 1, ceil_mode)
        average = getattr(F, f"avg_pool{n}d")(input**norm_type, kernel, stride, 0, ceil_mode)
        return (F.sgn(average) * F.relu(F.abs(average)) * math.prod(kernel)) ** (1.0 / norm_type)

    pool.__doc__ = f"The ``norm_type``-norm of each window of the last {n} dimensions."
    composite(pool, name=f"lp_pool{n}d")


for _n in (1, 2, 3):
    _max_pools(_n)
    _adaptive_max(_n)
    _unpools(_n)
    _avg_pools(_n)
    _adaptive_avg(_n)
    _lp_pools(_n)
