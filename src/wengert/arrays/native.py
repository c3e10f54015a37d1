"""The native kernels, with the signatures of their plain definitions.

Element-wise kernels are NumPy ufuncs and are taken as they are; NumPy's own ufuncs come through ``_kernels.fast``. The
functions of the extension that work on rows, channels or windows answer ``NotImplemented`` to dtypes and layouts they
do not handle; the plain definition does those. Importing this module fails where the extension was not built.
"""

from __future__ import annotations

import math
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays import _kernels, special_tables
from wengert.arrays.float8 import converted
from wengert.arrays.plain.arithmetic import COSTS
from wengert.arrays.plain.widen import parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from wengert.arrays.plain.rows import Needed
    from wengert.arrays.plain.shortcuts import Axes
    from wengert.arrays.plain.widen import Array
    from wengert.arrays.plain.windows import Ints


_SINGLE = np.dtype(np.float32)
instruction_set: str = _kernels.instruction_set
set_num_threads, get_num_threads = _kernels.set_num_threads, _kernels.get_num_threads

_kernels.take_series(vars(special_tables))
globals().update({name: _kernels.fast(kernel, 0.0) if kernel.nin <= 2 else kernel
    for name, kernel in vars(_kernels).items() if isinstance(kernel, np.ufunc)})
optimizer_update, recurrent_walk, dot = _kernels.update, _kernels.recurrent_walk, _kernels.dot
recurrent_twice_walk, choices = _kernels.recurrent_twice_walk, _kernels.choices
node_fields, unbroken, scopes_in, sites = (_kernels.node_fields, _kernels.unbroken, _kernels.scopes_in,
    _kernels.sites)
gammas, poissons, twister, ends_at = _kernels.gammas, _kernels.poissons, _kernels.twister, _kernels.ends_at
globals().update({name: _kernels.fast(getattr(np, name), cost, name in ("multiply", "divide", "true_divide"))
    for name, cost in COSTS.items()})


def _with_parameters(name: str, inputs: int, *defaults: float, exact: bool = False) -> Callable[..., Array]:
    """A ufunc of ``inputs`` arrays and then numbers; the last numbers have ``defaults``.

    ``exact``: with arrays of 16 bits numbers are those of float32, as PyTorch takes them here.
    """
    ufunc = getattr(_kernels, name)
    quick, numbers = _kernels.fast(ufunc, 0.0, exact), ufunc.nin - inputs

    def kernel(*args: Any, out: Array | None = None) -> Array:
        x, given = args[inputs - 1], args[inputs:]
        given += defaults[len(given) - numbers :] if len(given) < numbers else ()
        if x.dtype.char in "fd":
            return quick(*args[:inputs], *given, out=out)  # type: ignore[no-any-return]
        if is_half(x) and all(a.dtype is x.dtype and min(a.strides, default=0) >= 0 for a in args[:inputs]):
            return quick(*args[:inputs], *given, out=out)  # type: ignore[no-any-return]
        return ufunc(*args[:inputs], *[parameter(value, x) for value in given], out=out)  # type: ignore[no-any-return]

    kernel.__name__ = kernel.__qualname__ = name
    kernel.quick = quick  # type: ignore[attr-defined]  # for what has one type and gives all numbers
    return kernel


softplus, softplus_grad = (_with_parameters("softplus", 1, 1.0, 20.0, exact=True),
    _with_parameters("softplus_grad", 2, 1.0, 20.0, exact=True))
leaky_relu, leaky_relu_grad = (_with_parameters("leaky_relu", 1, exact=True),
    _with_parameters("leaky_relu_grad", 2, exact=True))
hardshrink, softshrink, shrink_grad = (_with_parameters(name, n) for name, n in (
    ("hardshrink", 1), ("softshrink", 1), ("shrink_grad", 2)))
hardtanh, hardtanh_grad = _with_parameters("hardtanh", 1), _with_parameters("hardtanh_grad", 2)
lerp, smooth_l1, nan_to_num = (_with_parameters("lerp", 2, exact=True), _with_parameters("smooth_l1", 2),
    _with_parameters("nan_to_num", 1))
scaled_sum, scaled_product, scaled_quotient = (_with_parameters("scaled_sum", 2),
    _with_parameters("scaled_product", 3), _with_parameters("scaled_quotient", 3))
threshold, threshold_grad = _with_parameters("threshold", 1), _with_parameters("threshold_grad", 2)
huber = _with_parameters("huber", 2)
bent_grad, logit_grad = _with_parameters("bent_grad", 3), _with_parameters("logit_grad", 2)
elu, elu_grad = _with_parameters("elu", 1, exact=True), _with_parameters("elu_grad", 2, exact=True)


class _Later:
    """Plain definitions that are loaded when the first of them is needed."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._load(), name)
        setattr(self, name, found)
        return found


(alignments, _attention, distances, draws, fourier, _groups, lapack, layout, lines, _margins, matrices, _orthogonal,
    rows, sampling, shortcuts, special, windows) = (
    _Later(partial(import_module, f"wengert.arrays.plain.{name}")) for name in (
        "alignments", "attention", "distances", "draws", "fourier", "groups", "lapack", "layout", "lines", "margins",
        "matrices", "orthogonal", "rows", "sampling", "shortcuts", "special", "windows"))


def _or_plain(name: str, definitions: _Later) -> Callable[..., Any]:
    """The native kernel, and the plain definition for what it does not take."""
    native = getattr(_kernels, name)

    def kernel(*args: Any) -> Any:
        value = native(*args)
        return getattr(definitions, name)(*args) if value is NotImplemented else value

    kernel.__name__ = kernel.__qualname__ = name
    return kernel


def _in_rows(name: str, first: int = 0) -> Callable[..., Any]:
    """The kernel along an axis, natively of arrays in C order, to which those from argument ``first`` on are copied."""
    native = getattr(_kernels, name)

    def kernel(*args: Any) -> Any:
        value = native(*args)
        if value is not NotImplemented:
            return value
        rest = [in_order(a) if type(a) is np.ndarray and not a.flags.c_contiguous else a for a in args[first:]]
        value = native(*args[:first], *rest)
        return getattr(lines, name)(*args) if value is NotImplemented else value

    kernel.__name__ = kernel.__qualname__ = name
    return kernel


for _module, _names in {
    matrices: ("substitute", "cholesky_lower", "sparse_product"),
    sampling: ("grid_sample", "grid_sample_grad", "resample"), alignments: ("alignment_loss", "alignment_grad"),
    fourier: ("fourier",),
    draws: ("fill_uniform", "fill_normal", "fill_below", "fill_between", "fill_pairs", "fill_permutation",
        "fill_integers"),
    lines: ("add_at", "bags", "extreme", "fold_runs", "ranked_places", "search_rows", "sorted_places", "top_places"),
    distances: ("distances", "distances_grad", "pair_distances", "pair_distances_grad", "cross",
        "beside_squares", "roots"),
    _margins: ("margins", "margins_grad"),
    layout: ("joined", "pieces", "padded", "triangle_places", "unpadded"),
    shortcuts: ("norm", "product", "fold_rows", "square_sum", "stacked", "within", "class_losses",
        "cross_entropy_grad", "where"),
    _attention: ("attention",),
    lapack: ("lu_factor", "lu_parts", "lu_solve", "solve_once", "inverse", "determinants", "triangular", "cholesky",
        "orthogonal", "singular", "symmetric", "eigen", "least_squares"),
}.items():
    globals().update({name: _or_plain(name, _module) for name in _names})
globals().update({name: _in_rows(name) for name in ("running_sum", "running_product", "running_extreme", "take_along",
    "mode_places")})
globals().update({name: _in_rows(name, 2) for name in ("put_along", "add_along", "join_along")})


def _of_degree(name: str) -> Callable[..., Array]:
    quick = globals()[name]

    def kernel(x: Array, n: Array, out: Array | None = None) -> Array:
        if _kernels.within(n, -(2**20), 2**20) is not True:
            _orthogonal.highest(n)
        return quick(x, n, out=out)  # type: ignore[no-any-return]

    kernel.__name__ = kernel.__qualname__ = name
    return kernel


globals().update({name: _of_degree(name) for name in ("chebyshev_t", "chebyshev_u", "chebyshev_v", "chebyshev_w",
    "hermite_h", "hermite_he", "laguerre_l", "legendre_p")})


def extreme(x: Array, axis: int, least: bool, keepdim: bool) -> tuple[Array, Array]:
    found = _kernels.extreme(x, axis, least, keepdim)
    if found is NotImplemented and type(x) is np.ndarray and not x.flags.c_contiguous:  # perhaps in another order
        order = sorted(range(x.ndim), key=lambda i: -x.strides[i])
        turned = x.transpose(order)
        found = _kernels.extreme(turned, order.index(axis % x.ndim), least, True)
        if found is not NotImplemented:
            key = (slice(None),) * (axis % x.ndim) + (slice(None) if keepdim else 0,)
            back = sorted(range(x.ndim), key=order.__getitem__)
            return found[0].transpose(back)[key], found[1].transpose(back)[key]
        if x.dtype.kind in "fi":  # parts of rows
            found = _kernels.extreme(np.ascontiguousarray(x), axis, least, keepdim)
    return lines.extreme(x, axis, least, keepdim) if found is NotImplemented else found


def attention_grad(g: Array, query: Array, key: Array, value: Array, mask: Array | None, causal: bool, scale: float,
        needs: Sequence[bool]) -> tuple[Array | None, Array | None, Array | None, Array | None]:
    found = (NotImplemented if needs[3]
        else _kernels.attention_grad(g, query, key, value, mask, causal, scale, *needs[:3]))
    if found is NotImplemented:
        return _attention.attention_grad(g, query, key, value, mask, causal, scale, needs)
    return (*found, None)


def half_attention(query: Array, key: Array, value: Array, mask: Array | None, causal: bool, scale: float) -> Array:
    found = _kernels.attention(query, key, value, widened(mask), causal, scale)
    return _attention.half_attention(query, key, value, mask, causal, scale) if found is NotImplemented else found


def half_attention_grad(g: Array, query: Array, key: Array, value: Array, mask: Array | None, causal: bool,
        scale: float, needs: Sequence[bool]) -> tuple[Array | None, ...]:
    found = (NotImplemented if needs[3]
        else _kernels.attention_grad(g, query, key, value, widened(mask), causal, scale, *needs[:3]))
    if found is not NotImplemented:
        return (*found, None)
    wide = attention_grad(widened(g), widened(query), widened(key), widened(value), widened(mask), causal, scale, needs)
    return tuple(None if a is None else cast(a, query.dtype) for a in wide)


def conv_input(g: Array, weight: Array, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Array:
    few = weight.size > math.prod(shape)  # which is smaller: filters, or what comes out of them
    if few or np.isfinite(weight.sum()):  # what is not finite would come out of the padding, times zero
        found = _kernels.conv_input(g, weight, shape, stride, padding, dilation, groups)
        if found is not NotImplemented and (not few or np.isfinite(found.sum()) or np.isfinite(weight.sum())):
            return found
    return _by_columns.conv_input(g, weight, shape, stride, padding, dilation, groups)


def cast(x: Array, dtype: np.dtype[Any]) -> Array:
    value = _kernels.cast(x, dtype)
    if value is not NotImplemented:
        return value  # type: ignore[no-any-return]
    if x.flags.fnc:
        return cast(x.T, dtype).T
    if is_half(x) or (dtype.itemsize == 2 and dtype.kind in "fV"):
        order = list(range(x.ndim))
        if 0 not in x.strides:
            order.sort(key=lambda i: -abs(x.strides[i]))  # the result's, as NumPy would have it
        value = _kernels.cast(in_order(x.transpose(order)), dtype)
        if value is not NotImplemented:
            return value.transpose(sorted(range(x.ndim), key=order.__getitem__))  # type: ignore[no-any-return]
        if is_half(x):
            return converted(cast(x, _SINGLE), dtype)
    return layout.cast(x, dtype)


def is_half(x: Array) -> bool:
    """Whether ``x`` is float16 or bfloat16: kernels for rows compute those in float32, cast before and after."""
    return x.dtype.itemsize == 2 and x.dtype.kind in "fV"


def widened(x: Any) -> Any:
    return x if x is None or not is_half(x) else cast(x, _SINGLE)


def softmax(x: Array, axis: int = -1) -> Array:
    value = _kernels.softmax(x, axis)
    if value is NotImplemented:
        return cast(softmax(widened(x), axis), x.dtype) if is_half(x) else rows.softmax(x, axis)
    return value  # type: ignore[no-any-return]


def softmax_grad(g: Array, result: Array, axis: int = -1) -> Array:
    value = _kernels.softmax_grad(g, result, axis)
    if value is NotImplemented:
        return (cast(softmax_grad(widened(g), widened(result), axis), result.dtype) if is_half(result)
            else rows.softmax_grad(g, result, axis))
    return value  # type: ignore[no-any-return]


def log_softmax(x: Array, axis: int = -1) -> Array:
    value = _kernels.log_softmax(x, axis)
    if value is NotImplemented:
        return cast(log_softmax(widened(x), axis), x.dtype) if is_half(x) else rows.log_softmax(x, axis)
    return value  # type: ignore[no-any-return]


def log_softmax_grad(g: Array, result: Array, axis: int = -1) -> Array:
    value = _kernels.log_softmax_grad(g, result, axis)
    if value is NotImplemented:
        return (cast(log_softmax_grad(widened(g), widened(result), axis), result.dtype) if is_half(result)
            else rows.log_softmax_grad(g, result, axis))
    return value  # type: ignore[no-any-return]


def logsumexp(x: Array, axis: int) -> Array:
    value = _kernels.logsumexp(x, axis)
    return rows.logsumexp(x, axis) if value is NotImplemented else value


def logsumexp_grad(g: Array, x: Array, result: Array, axis: int) -> Array:
    value = _kernels.logsumexp_grad(g, x, result, axis)
    return rows.logsumexp_grad(g, x, result, axis) if value is NotImplemented else value


def layer_norm(x: Array, dims: int, weight: Array | None, bias: Array | None, eps: float) -> tuple[Array, Array, Array]:
    if is_half(x):
        weight, bias = widened(weight), widened(bias)
    value = _kernels.normalize(x, dims, weight, bias, eps, True)
    if value is NotImplemented and is_half(x):
        out, mean, rstd = layer_norm(widened(x), dims, weight, bias, eps)
        return cast(out, x.dtype), mean, rstd
    return rows.layer_norm(x, dims, weight, bias, eps) if value is NotImplemented else value


def layer_norm_grad(g: Array, x: Array, mean: Array, rstd: Array, weight: Array | None, dims: int,
        needed: Needed = (True, True, True)) -> tuple[Array | None, Array | None, Array | None]:
    if is_half(x):
        weight = widened(weight)
    value = _kernels.normalize_grad(g, x, mean, rstd, weight, dims, *needed)
    if is_half(x):
        if value is NotImplemented:
            value = layer_norm_grad(widened(g), widened(x), mean, rstd, weight, dims, needed)
        return tuple([v if v is None or is_half(v) else cast(v, x.dtype) for v in value])  # type: ignore[return-value]
    return rows.layer_norm_grad(g, x, mean, rstd, weight, dims, needed) if value is NotImplemented else value


def layer_norm_twice(u: Array, g: Array, x: Array, weight: Array | None, of_weight: Array | None,
        of_bias: Array | None, dims: int, eps: float, wants_weight: bool) -> tuple[Array, Array, Array | None]:
    value = _kernels.normalize_twice(u, g, x, weight, of_weight, of_bias, dims, eps, wants_weight)
    return (rows.layer_norm_twice(u, g, x, weight, of_weight, of_bias, dims, eps, wants_weight)
        if value is NotImplemented else value)


def rms_norm(x: Array, dims: int, weight: Array | None, eps: float) -> tuple[Array, Array]:
    value = _kernels.normalize(x, dims, widened(weight) if is_half(x) else weight, None, eps, False)
    return rows.rms_norm(x, dims, weight, eps) if value is NotImplemented else value


def rms_norm_grad(g: Array, x: Array, rstd: Array, weight: Array | None, dims: int,
        needed: tuple[bool, bool] = (True, True)) -> tuple[Array | None, Array | None]:
    half = is_half(x)
    value = _kernels.normalize_grad(g, x, None, rstd, widened(weight) if half else weight, dims, *needed, False)
    if value is NotImplemented:
        return rows.rms_norm_grad(g, x, rstd, weight, dims, needed)
    return value[0], cast(value[1], x.dtype) if half and value[1] is not None else value[1]


def batch_norm_grad(g: Array, x: Array, mean: Array, rstd: Array, weight: Array | None, training: bool,
        needed: Needed = (True, True, True)) -> tuple[Array | None, Array | None, Array | None]:
    if not (needed[0] or needed[1]):  # of the input nothing was remembered
        return rows.batch_norm_grad(g, x, mean, rstd, weight, training, needed)
    kind = x.dtype if weight is None else weight.dtype
    if is_half(x):
        mean, rstd, weight = widened(mean), widened(rstd), widened(weight)
    value = _kernels.batch_norm_grad(g, x, mean, rstd, weight, training, needed[0])
    if value is NotImplemented:
        if is_half(x):
            value = batch_norm_grad(widened(g), widened(x), mean, rstd, weight, training, needed)
        else:
            return rows.batch_norm_grad(g, x, mean, rstd, weight, training, needed)
    found = [None if a is None or not wanted else a if a.dtype == d else cast(a, d)
        for a, wanted, d in zip(value, needed, (x.dtype, kind, kind))]
    return found[0], found[1], found[2]


def channel_moments(x: Array) -> tuple[Array, Array]:
    value = _kernels.channel_moments(x)
    if value is NotImplemented and is_half(x):
        return channel_moments(widened(x))
    return rows.channel_moments(x) if value is NotImplemented else value


def channel_affine(x: Array, scale: Array, shift: Array) -> Array:
    half = is_half(x)
    value = _kernels.channel_affine(x, *map(widened, (scale, shift)) if half else (scale, shift))
    if value is NotImplemented and half:
        return cast(channel_affine(widened(x), widened(scale), widened(shift)), x.dtype)
    return rows.channel_affine(x, scale, shift) if value is NotImplemented else value


def channel_norm(x: Array, mean: Array, rstd: Array, weight: Array | None, bias: Array | None, then: str = "") -> Array:
    value = _kernels.channel_norm(x, mean, rstd, weight, bias, *([then] if then else ()))
    if value is NotImplemented:
        return _activated(channel_affine(x, *rows.channel_factors(mean, rstd, weight, bias)), then)
    return value  # type: ignore[no-any-return]


def _activated(x: Array, then: str) -> Array:
    return hardtanh(x, 0, 6) if then == "relu6" else globals()[then](x) if then else x  # type: ignore[no-any-return]


channel_rstd, statistics_moved = _or_plain("channel_rstd", rows), _or_plain("statistics_moved", rows)


def channel_blend(g: Array, x: Array, a: Array, b: Array, c: Array) -> Array:
    half = is_half(x)
    value = _kernels.channel_blend(g, x, *map(widened, (a, b, c)) if half else (a, b, c))
    if value is NotImplemented and half:
        return cast(channel_blend(widened(g), widened(x), widened(a), widened(b), widened(c)), x.dtype)
    return rows.channel_blend(g, x, a, b, c) if value is NotImplemented else value


def im2col(x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Array:
    if x.ndim == 3:
        return im2col(x[:, :, None], (1, *kernel), (1, *stride), (0, *padding), (1, *dilation))
    value = _kernels.im2col(x, kernel, stride, padding, dilation)
    return windows.im2col(x, kernel, stride, padding, dilation) if value is NotImplemented else value


def col2im(columns: Array, size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Array:
    if len(size) == 1:
        return col2im(columns, (1, *size), (1, *kernel), (1, *stride), (0, *padding), (1, *dilation))[:, :, 0]
    value = _kernels.col2im(columns, size, kernel, stride, padding, dilation)
    return windows.col2im(columns, size, kernel, stride, padding, dilation) if value is NotImplemented else value


def add_windows(seen: Array, size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Array:
    if len(kernel) == 1:  # a picture of one line
        return add_windows(seen, (1, *size), (1, *kernel), (1, *stride), (0, *padding), (1, *dilation))[:, :, 0]
    value = _kernels.add_windows(seen, size, kernel, stride, padding, dilation)
    return windows.add_windows(seen, size, kernel, stride, padding, dilation) if value is NotImplemented else value


_by_columns = _Later(cache(lambda: windows.ByColumns(im2col, col2im, add_windows, windows.product_in_parts)))
conv, conv_weight = _or_plain("conv", _by_columns), _or_plain("conv_weight", _by_columns)


def conv_then(x: Array, weight: Array, bias: Array | None, stride: Ints, padding: Ints, dilation: Ints, groups: int,
        norm: tuple[Array, Array, Array | None, Array | None] | None, then: str) -> Array:
    factors = (None, None) if norm is None else rows.channel_factors(*norm)
    value = _kernels.conv(x, weight, bias, stride, padding, dilation, groups, *factors, then)
    if value is NotImplemented:
        value = conv(x, weight, bias, stride, padding, dilation, groups)
        return _activated(value if norm is None else channel_affine(value, *factors), then)
    return value  # type: ignore[no-any-return]


def _one_window(size: Ints, kernel: Ints, padding: Ints, groups: int) -> bool:
    """Whether a convolution's windows are whole images: it is a product of matrices then."""
    return groups == 1 and tuple(size) == tuple(kernel) and not any(padding)


def half_conv(x: Array, weight: Array, bias: Array | None, stride: Ints, padding: Ints, dilation: Ints,
        groups: int) -> Array:
    if x.size and _one_window(x.shape[2:], weight.shape[2:], padding, groups):
        found = brain_product(x.reshape(len(x), -1), weight.reshape(len(weight), -1).T, bias)
        return found.reshape(*found.shape, *(1,) * (x.ndim - 2))
    value = _kernels.brain_conv(x, weight, bias, stride, padding, dilation, groups)
    if value is not NotImplemented:
        return value  # type: ignore[no-any-return]
    return cast(conv(widened(x), widened(weight), widened(bias), stride, padding, dilation, groups), x.dtype)


def half_conv_input(g: Array, weight: Array, shape: Ints, stride: Ints, padding: Ints, dilation: Ints,
        groups: int) -> Array:
    if g.size and _one_window(shape[2:], weight.shape[2:], padding, groups):
        return brain_product(g.reshape(len(g), -1), weight.reshape(len(weight), -1)).reshape(shape)
    value = _kernels.brain_conv_input(g, weight, shape, stride, padding, dilation, groups)
    if value is not NotImplemented:
        return value  # type: ignore[no-any-return]
    return cast(conv_input(widened(g), widened(weight), shape, stride, padding, dilation, groups), g.dtype)


def half_conv_weight(x: Array, g: Array, shape: Ints, stride: Ints, padding: Ints, dilation: Ints,
        groups: int) -> Array:
    if g.size and _one_window(x.shape[2:], shape[2:], padding, groups):
        return brain_product(g.reshape(len(g), -1).T, x.reshape(len(x), -1)).reshape(shape)
    value = _kernels.brain_conv_weight(x, g, shape, stride, padding, dilation, groups)
    if value is not NotImplemented:
        return value  # type: ignore[no-any-return]
    return cast(conv_weight(widened(x), widened(g), shape, stride, padding, dilation, groups), x.dtype)


def _pooled(name: str) -> Callable[..., Array]:
    """Numbers of 16 bits through float32, rounded once."""
    native = getattr(_kernels, name)

    def kernel(x: Array, *how: Any) -> Array:
        value = native(widened(x), *how)
        if value is NotImplemented:
            return getattr(windows, name)(x, *how)  # type: ignore[no-any-return]
        return cast(value, x.dtype) if is_half(x) else value

    return kernel


max_pool_grad, avg_pool, avg_pool_grad = map(_pooled, ("max_pool_grad", "avg_pool", "avg_pool_grad"))


def max_pool(x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
        ceil_mode: bool = False) -> tuple[Array, Array]:
    if is_half(x):
        values, places = max_pool(widened(x), kernel, stride, padding, dilation, ceil_mode)
        return cast(values, x.dtype), places
    value = _kernels.max_pool(x, ceil_mode, kernel, stride, padding, dilation)
    return windows.max_pool(x, kernel, stride, padding, dilation, ceil_mode) if value is NotImplemented else value


def max_pool_values(x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
        ceil_mode: bool = False) -> Array:
    if is_half(x):
        return cast(max_pool_values(widened(x), kernel, stride, padding, dilation, ceil_mode), x.dtype)
    value = _kernels.max_pool_values(x, ceil_mode, kernel, stride, padding, dilation)
    if value is NotImplemented:
        return windows.max_pool_values(x, kernel, stride, padding, dilation, ceil_mode)
    return value


mean_between, spread_between = map(_pooled, ("mean_between", "spread_between"))


def largest_between(x: Array, edges: tuple[Array, ...]) -> tuple[Array, Array]:
    value = _kernels.largest_between(widened(x), edges)
    if value is NotImplemented:
        return windows.largest_between(x, edges)
    return (cast(value[0], x.dtype), value[1]) if is_half(x) else value


def _scattered(x: Array) -> bool:
    """Whether results of ``x`` lie row by row though it does not: channels that lie innermost stay there."""
    return type(x) is np.ndarray and not x.flags.c_contiguous and x.strides[1] != x.itemsize


def group_norm(x: Array, groups: int, weight: Array | None, bias: Array | None,
        eps: float) -> tuple[Array, Array, Array]:
    parameters = tuple(map(widened, (weight, bias))) if is_half(x) else (weight, bias)
    value = _kernels.group_norm(x, groups, *parameters, eps)
    if value is NotImplemented and _scattered(x):
        value = _kernels.group_norm(in_order(x), groups, *parameters, eps)
    if value is NotImplemented:
        value = _groups.group_norm(x, groups, weight, bias, eps)
    return value  # type: ignore[no-any-return]


def group_norm_grad(g: Array, x: Array, mean: Array, rstd: Array, weight: Array | None, groups: int,
        needed: Needed = (True, True, True)) -> tuple[Array | None, Array | None, Array | None]:
    parameters = widened(weight) if is_half(x) else weight, groups, needed[0]
    value = _kernels.group_norm_grad(g, x, mean, rstd, *parameters)
    if value is NotImplemented and _scattered(x):
        value = _kernels.group_norm_grad(g, in_order(x), mean, rstd, *parameters)
    if value is NotImplemented:
        return _groups.group_norm_grad(g, x, mean, rstd, weight, groups, needed)  # type: ignore[no-any-return]
    return value[0], *(cast(v, x.dtype) if there and is_half(x) else v if there else None
        for v, there in zip(value[1:], needed[1:]))


def masked_scale(x: Array, mask: Array, scale: float) -> Array:
    value = _kernels.masked_scale(x, mask, scale)
    if value is NotImplemented and is_half(x) and x.shape == mask.shape:
        value = _kernels.masked_scale(in_order(x), in_order(mask), scale)
    return shortcuts.masked_scale(x, mask, scale) if value is NotImplemented else value


def brain_product(a: Array, b: Array, bias: Array | None = None) -> Array:
    value = _kernels.brain_product(a, b, bias)
    if value is not NotImplemented:
        return value  # type: ignore[no-any-return]
    wide = cast(a, _SINGLE), cast(b, _SINGLE)
    found = NotImplemented if a.ndim == b.ndim == 2 else _kernels.stacked(*wide)
    total = dot(*wide) if a.ndim == b.ndim == 2 else np.matmul(*wide) if found is NotImplemented else found
    return cast(total if bias is None else np.add(total, cast(bias, _SINGLE), out=total), a.dtype)


def triangle(x: Array, diagonal: int, upper: bool) -> Array:
    value = _kernels.triangle(x, diagonal, upper)
    return layout.triangle(x, diagonal, upper) if value is NotImplemented else value


def in_order(x: Array) -> Array:
    value = _kernels.in_order(x)
    return layout.in_order(x) if value is NotImplemented else value


target = _kernels.target


def to_write(x: Array, order: str) -> Array:
    value = _kernels.to_write(x, order)
    return layout.to_write(x, order) if value is NotImplemented else value


def restrided(x: Array, shape: Ints, strides: Ints) -> Array:
    value = _kernels.restrided(x, shape, strides)
    return layout.restrided(x, shape, strides) if value is NotImplemented else value


_digamma, _derived_digamma = _kernels.fast(_kernels.digamma, 0.0), _kernels.fast(_kernels.derived_digamma, 0.0, True)


def polygamma(n: int, x: Array) -> Array:
    if n != 1:
        return _derived_digamma(float(n), x) if n else _digamma(x)  # type: ignore[no-any-return]
    value = _kernels.trigamma(x)
    if _kernels.within(x, 0, 2**24) is True or not np.isinf(value).any():  # there is no pole
        return value  # type: ignore[no-any-return]
    return special.rounded_poles(np.asarray(x), value).astype(value.dtype)  # type: ignore[no-any-return]


def sum(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    value = _kernels.sum(x, axis, keepdims)
    return shortcuts.sum(x, axis, keepdims) if value is NotImplemented else value


def sum_of_numbers(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    value = _kernels.sum_of_numbers(x, axis, keepdims)
    return sum(nan_to_num(x, 0.0, math.inf, -math.inf), axis, keepdims) if value is NotImplemented else value


def mean(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    value = _kernels.mean(x, axis, keepdims)
    return shortcuts.mean(x, axis, keepdims) if value is NotImplemented else value


def has_nan(x: Array) -> bool:
    value = _kernels.has_nan(x)
    return shortcuts.has_nan(x) if value is NotImplemented else value  # type: ignore[no-any-return]
