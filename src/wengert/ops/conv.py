"""Convolutions.

A convolution is bilinear, and so are its two gradients: ``conv`` (input, weight), ``conv_input`` (gradient, weight) and
``conv_weight`` (input, gradient). Each is the gradient of the others, which closes the family under differentiation;
the transposed convolution that users call is ``conv_input`` under another name.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.dtypes import is_half
from ..arrays.errors import check_countable, warn_once
from .operator import Array, family
from .reduce import total
from .refusals import unsupported
from .window_checks import check, check_largest, ntuple, vectorised

operator, composite = family("functional")

#: So many windows of single pixels, or fewer, are summed up by convolutions' own kernels, in short parts: by a product
#: of matrices the error was up to three times PyTorch's.
FEW_SUMMED = 1024


def _push_convolution(F: Any, t: Any, input: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: Any,
        result: Any) -> Any:
    (x, w, bias), how = t, (stride, padding, dilation, groups)
    if x is None and w is None:
        return F.expand(F.reshape(bias, (-1,) + (1,) * (result.ndim - 2)), tuple(result.shape))
    part = None if w is None else F.convolution_forward(input, w, bias if x is None else None, *how)
    if x is None:
        return part
    found = F.convolution_forward(x, weight, bias, *how)
    return found if part is None else found + part


def _windows(inside: Array, counts: Any, kernel: Any, stride: Any) -> Array:
    """The windows, ``(N, *counts, *kernel, C)``, of images whose channels are the last axis: the same memory."""
    n, *steps, c = (step // inside.itemsize for step in inside.strides)
    apart = [step * s for step, s in zip(steps, stride)]
    return K.restrided(inside, (inside.shape[0], *counts, *kernel, inside.shape[-1]), (n, *apart, *steps, c))


def _beside(images: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> bool:
    """Whether channels lie innermost and windows beside each other: the convolution is a product as they lie."""
    if type(images) is not np.ndarray or images.flags.c_contiguous or groups > 1 or images.dtype.char not in "fd":
        return False
    if any(padding) or any(k > s or (k > 1 and d > 1) for k, s, d in zip(kernel, stride, dilation)):
        return False
    return images.transpose(0, *range(2, images.ndim), 1).flags.c_contiguous and images.size > 0


def _pixels(images: Array, kernel: Any, stride: Any) -> Array:
    """Such images as a matrix, a row for each window."""
    inside = images.transpose(0, *range(2, images.ndim), 1)
    if {*kernel, *stride} != {1}:
        counts = [(a - k) // s + 1 for a, k, s in zip(images.shape[2:], kernel, stride)]
        inside = np.ascontiguousarray(_windows(inside, counts, kernel, stride))
    return inside.reshape(-1, math.prod(kernel) * images.shape[1])


def _filters(weight: Array) -> Array:
    """Filters as a matrix, a row for each, whose numbers are in the order of those of ``_pixels``."""
    return weight.transpose(0, *range(2, weight.ndim), 1).reshape(len(weight), -1)


def _pictures(pixels: Array) -> Array:
    """Images whose channels are the last axis, with channels as the second."""
    return pixels.transpose(0, pixels.ndim - 1, *range(1, pixels.ndim - 1))


def _spread(found: Array, shape: Any, counts: Any, kernel: Any, stride: Any) -> Array:
    """Images of that shape that have the rows of ``found`` as windows, and zeros beside them."""
    size = shape[2:]
    if {*kernel, *stride} == {1}:
        return _pictures(found.reshape(shape[0], *size, shape[1]))
    whole = kernel == stride and all(a == n * s for a, n, s in zip(size, counts, stride))
    inside = (np.empty if whole else np.zeros)((shape[0], *size, shape[1]), found.dtype)
    windows = _windows(inside, counts, kernel, stride)
    windows[...] = found.reshape(windows.shape)
    return _pictures(inside)


@operator(
    grad=lambda F, g, needs, input, weight, stride, padding, dilation, groups: F.convolution_backward(g, input, weight,
        (stride, padding, dilation, groups), needs),
    wrt=("input", "weight", "bias"), push=_push_convolution, places=(), node="ConvolutionBackward0", layout="taps")
def convolution_forward(input: Array, weight: Array, bias: Array | None, stride, padding, dilation, groups):
    """Cross-correlation: ``(N, C, *size), (O, C / groups, *kernel) -> (N, O, *size')``; tuples of one length."""
    kernel = weight.shape[2:]
    if _beside(input, kernel, stride, padding, dilation, groups) and weight.size:
        y = K.dot(_pixels(input, kernel, stride), _filters(weight).T)
        counts = [(a - k) // s + 1 for a, k, s in zip(input.shape[2:], kernel, stride)]
        return _pictures((y if bias is None else np.add(y, bias, y)).reshape(len(input), *counts, len(weight)))
    conv = K.half_conv if is_half(input.dtype) else K.conv
    return conv(input, weight, bias, stride, padding, dilation, groups)


@operator(places=(), layout="taps")
def convolution_then(input: Array, weight: Array, bias: Array | None, stride, padding, dilation, groups, norm, then):
    """A convolution, then ``batch_norm`` in evaluation by ``norm``, then ``then``: one pass, no gradient.

    ``norm``: arrays of mean, variance, weight and bias (or None), and eps; None: there is none. ``then``: relu, relu6,
    silu, hardswish, or "".
    """
    if norm is not None:
        mean, var, scale, shift, eps = norm
        norm = mean, K.channel_rstd(var, eps), scale, shift
    return K.conv_then(input, weight, bias, stride, padding, dilation, groups, norm, then)


@operator(
    grad=lambda F, g, needs, input, weight, stride, padding, dilation, groups: F.transposed_backward(g, input, weight,
        (stride, padding, dilation, groups), needs),
    wrt=("input", "weight"), linear="each", places=(), node="ConvolutionBackward0", layout="taps")
def conv_input(input: Array, weight: Array, shape, stride, padding, dilation, groups):
    """The adjoint of a convolution in its input, which has ``shape``: the transposed convolution."""
    kernel = tuple(weight.shape[2:])
    if _beside(input, kernel, stride, padding, dilation, groups) and weight.size:
        found = K.dot(input.transpose(0, *range(2, input.ndim), 1).reshape(-1, len(weight)), _filters(weight))
        return _spread(found, shape, input.shape[2:], kernel, tuple(stride))
    conv = K.half_conv_input if is_half(input.dtype) else K.conv_input
    return conv(input, weight, tuple(shape), stride, padding, dilation, groups)


@operator(places=(), node="ConvolutionBackward0", linear="each", grad=dict(
    input=lambda F, g, grad, input_shape, stride, padding, dilation, groups: F.conv_input(grad, g, input_shape,
        stride, padding, dilation, groups),
    grad=lambda F, g, input, stride, padding, dilation, groups: F.convolution_forward(input, g, None, stride, padding,
        dilation, groups)))
def conv_weight(input: Array, grad: Array, shape, stride, padding, dilation, groups):
    """The adjoint of a convolution in its weight, which has ``shape``."""
    kernel, one = tuple(shape[2:]), (1,) * (len(shape) - 2)
    few = kernel == one and K.available and grad.size <= FEW_SUMMED * shape[0]
    if (not few and _beside(input, kernel, stride, padding, dilation, groups)
            and _beside(grad, one, one, padding, one, 1)):
        found = K.dot(_pixels(grad, one, one).T, _pixels(input, kernel, stride))
        return K.in_order(_pictures(found.reshape(shape[0], *kernel, shape[1])))
    conv = K.half_conv_weight if is_half(input.dtype) else K.conv_weight
    return conv(input, grad, tuple(shape), stride, padding, dilation, groups)


def _parts_raw(g: Any, input: Any, weight: Any, how: tuple[Any, ...], needs: Any) -> Any:
    return (conv_input.forward(g, weight, input.shape, *how) if needs[0] else None,
        conv_weight.forward(input, g, weight.shape, *how) if needs[1] else None,
        total(g, (0, *range(2, g.ndim))) if needs[2] else None)


def _twice(F: Any, g: Any, needs: Any, grad_output: Any, input: Any, weight: Any, how: tuple[Any, ...]) -> Any:
    """The gradients of the gradients; ``g``: those of the ones in input, weight and bias."""
    of_input, of_weight, of_bias = g
    back = None
    if needs[0]:
        if of_input is not None:
            back = F.convolution_forward(of_input, weight, of_bias, *how)
        elif of_bias is not None:
            back = F.expand(F.reshape(of_bias, (1, -1) + (1,) * (grad_output.ndim - 2)), tuple(grad_output.shape))
        if of_weight is not None:
            along = F.convolution_forward(input, of_weight, None, *how)
            back = along if back is None else back + along
    return (back,
        F.conv_input(grad_output, of_weight, tuple(input.shape), *how) if needs[1] and of_weight is not None else None,
        F.conv_weight(of_input, grad_output, tuple(weight.shape), *how) if needs[2] and of_input is not None else None)


_three: dict = dict(outputs=("grad_input", "grad_weight", "grad_bias"), node="ConvolutionBackwardBackward0", places=())


@composite(raw=_parts_raw, whole=("g", "input", "weight"), grad=_twice, **_three)
def convolution_backward(F, g, input, weight, how, needs):
    """All gradients of a convolution in one step."""
    return (F.conv_input(g, weight, tuple(input.shape), *how) if needs[0] else None,
        F.conv_weight(input, g, tuple(weight.shape), *how) if needs[1] else None,
        F.sum(g, (0, *range(2, g.ndim))) if needs[2] else None)


def _parts_transposed_raw(g: Any, input: Any, weight: Any, how: tuple[Any, ...], needs: Any) -> Any:
    return (convolution_forward.forward(g, weight, None, *how) if needs[0] else None,
        conv_weight.forward(g, input, weight.shape, *how) if needs[1] else None)


def _twice_transposed(F: Any, g: Any, needs: Any, grad_output: Any, input: Any, weight: Any,
        how: tuple[Any, ...]) -> Any:
    of_input, of_weight = g
    shape, back = tuple(grad_output.shape), None
    if needs[0]:
        back = None if of_input is None else F.conv_input(of_input, weight, shape, *how)
        if of_weight is not None:
            along = F.conv_input(input, of_weight, shape, *how)
            back = along if back is None else back + along
    return (back,
        F.convolution_forward(grad_output, of_weight, None, *how) if needs[1] and of_weight is not None else None,
        F.conv_weight(grad_output, of_input, tuple(weight.shape), *how) if needs[2] and of_input is not None else None)


@composite(raw=_parts_transposed_raw, whole=("g", "input", "weight"), grad=_twice_transposed,
    **_three | dict(outputs=("grad_input", "grad_weight")))
def transposed_backward(F, g, input, weight, how, needs):
    """Both gradients of a transposed convolution in one step."""
    return (F.convolution_forward(g, weight, None, *how) if needs[0] else None,
        F.conv_weight(g, input, tuple(weight.shape), *how) if needs[1] else None)


# -- what users call --------------------------------------------------------------------------------------------------


class _Sizes:
    """Of tensors that have nothing but a shape."""

    dtype_of = staticmethod(lambda x: x.dtype)


@lru_cache(1024)
def _known(shapes: tuple[Any, ...], stride: Any, padding: Any, dilation: Any, groups: int, n: int) -> Any:
    """``stride``, ``padding`` and ``dilation`` for each dimension, if all fits; None if something has to be said."""
    x, w, b = (None if s is None else np.broadcast_to(np.float32(0), s) for s in shapes)
    try:
        stride, padding, dilation, _, _ = check(_Sizes, x, w, b, groups, n, False, stride, padding, dilation)
        _check_reach(shapes[0][2:], shapes[1][2:], padding, dilation)
    except Exception:
        return None
    return stride, padding, dilation


@lru_cache(1024)
def _known_transposed(shapes: tuple[Any, ...], stride: Any, padding: Any, dilation: Any, groups: int, n: int,
        output_padding: Any) -> Any:
    """What ``_placed`` says, if all fits and something comes out without more; None otherwise."""
    x, w, b = (None if s is None else np.broadcast_to(np.float32(0), s) for s in shapes)
    try:
        found = _placed(_Sizes, x, w, b, stride, padding, output_padding, groups, dilation, n)[0]
    except Exception:
        return None
    return found if len(found) == 5 and min(found[0]) else None  # without ``pads``


def _check_reach(size: Any, kernel: Any, padding: Any, dilation: Any) -> None:
    padded = [a + 2 * p for a, p in zip(size, padding)]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    if any(a < b for a, b in zip(padded, reach)):
        raise RuntimeError(f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
            f"({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size")


def of_integers(shapes: Any, stride: Any, padding: Any, dilation: Any, groups: int, n: int, *extra: Any) -> Any:
    """What ``_known``, or the same of transposed ones, says of a batch and of integers; None of all others."""
    for v in (stride, padding, dilation, *extra):
        if type(v) is not int and not (type(v) is tuple and {*map(type, v)} == {int}):
            return None
    if type(groups) is not int or len(shapes[0]) != n + 2:
        return None
    return (_known_transposed if extra else _known)(shapes, stride, padding, dilation, groups, n, *extra)


def _everyday(F: Any, input: Any, weight: Any, bias: Any, *how: Any) -> Any:
    """The same of tensors, of one type."""
    d = F.dtype_of(input)
    if F.dtype_of(weight) != d or (bias is not None and F.dtype_of(bias) != d):
        return None
    shapes = tuple(input.shape), tuple(weight.shape), None if bias is None else tuple(bias.shape)
    return of_integers(shapes, *how)


def _convolve(F: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, n: int,
        named: bool = True) -> Any:
    known = _everyday(F, input, weight, bias, stride, padding, dilation, groups, n)
    if known is not None:
        return F.convolution_forward(input, weight, bias, *known, groups)
    stride, padding, dilation, _, bias = check(F, input, weight, bias, groups, n, False, stride, padding, dilation, 0,
        named)
    kernel = tuple(weight.shape[2:])
    batched = input.ndim == n + 2
    x = input if batched else F.unsqueeze(input, 0)
    if isinstance(padding, str):
        x, padding = _named_padding(F, x, padding, kernel, dilation)
    _check_reach(x.shape[2:], kernel, padding, dilation)
    y = F.convolution_forward(x, weight, bias, stride, padding, dilation, groups)
    return y if batched else F.squeeze(y, 0)


def _named_padding(F: Any, x: Any, padding: str, kernel: Any, dilation: Any) -> tuple[Any, Any]:
    if padding == "valid":
        return x, (0,) * len(kernel)
    total = [d * (k - 1) for k, d in zip(kernel, dilation)]
    if all(t % 2 == 0 for t in total):
        return x, tuple(t // 2 for t in total)
    warn_once("Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
        "input be created")
    pads = [v for t in reversed(total) for v in (t // 2, t - t // 2)]
    return F.constant_pad_nd(x, tuple(pads)), (0,) * len(kernel)


def _transposed(F: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int,
        dilation: Any, n: int) -> Any:
    known = _everyday(F, input, weight, bias, stride, padding, dilation, groups, n, output_padding)
    if known is not None:
        return F.conv_transposed(input, weight, bias, *known)
    how, bias = _placed(F, input, weight, bias, stride, padding, output_padding, groups, dilation, n)
    batched = input.ndim == n + 2
    y = F.conv_transposed(input if batched else F.unsqueeze(input, 0), weight, bias, *how)
    return y if batched else F.squeeze(y, 0)


def _placed(F: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int,
        dilation: Any, n: int) -> tuple[tuple[Any, ...], Any]:
    """What ``conv_transposed`` is told after the tensors, if all fits; and the bias."""
    stride, padding, dilation, extra, bias = check(F, input, weight, bias, groups, n, True, stride, padding, dilation,
        output_padding)
    for e, s, d in zip(extra, stride, dilation):
        if e >= s and e >= d:
            raise RuntimeError("output padding must be smaller than either stride or dilation, but got "
                f"output_padding_height: {extra[0]} output_padding_width: {extra[-1]} stride_height: {stride[0]} "
                f"stride_width: {stride[-1]} dilation_height: {dilation[0]} dilation_width: {dilation[-1]}")
    space = tuple(input.shape[-n:])
    shape = (input.shape[0] if input.ndim == n + 2 else 1, weight.shape[1] * groups)
    size = tuple((a - 1) * s + d * (k - 1) + 1 for a, s, d, k in zip(space, stride, dilation, weight.shape[2:]))
    found = tuple(a - 2 * p + e for a, p, e in zip(size, padding, extra))
    if any(v < 0 or (v == 0 and not vectorised(F, input, weight, groups, stride, dilation, extra)) for v in found):
        one = [1] if n == 1 else []  # PyTorch convolves one dimension as two
        given, out = (" x ".join(map(str, one + list(row))) for row in (space, found))
        raise RuntimeError(f"Given input size per channel: ({given}). Calculated output size per channel: ({out}). "
            "Output size is too small")
    check_countable(*found)
    check_countable(*size)
    if all(e < s for e, s in zip(extra, stride)) and min(found):
        return (shape + found, stride, padding, dilation, groups), bias
    # space for one window more: the whole output first, then cut on the left and padded on the right
    pads = tuple(v for p, e in zip(reversed(padding), reversed(extra)) for v in (-p, e - p))
    return (shape + size, stride, (0,) * n, dilation, groups, pads), bias


@composite(places=(), node="ConvolutionBackward0", whole=("input", "weight", "bias"))
def conv_transposed(F, input, weight, bias, shape, stride, padding, dilation, groups, pads=()):
    """``conv_input``, padded with zeros by ``pads``, plus the bias."""
    y = F.conv_input(input, weight, shape, stride, padding, dilation, groups)
    y = F.constant_pad_nd(y, pads) if pads else y
    return y if bias is None else y + F.reshape(bias, (1, -1) + (1,) * (y.ndim - 2))


def _of_dimensions(n: int, size: str, kernel: str, out: str, example: str = "") -> None:
    def conv(F, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return _convolve(F, input, weight, bias, stride, padding, dilation, groups, n)

    def plan(image: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
        known = of_integers((image, weight, bias), stride, padding, dilation, groups, n)
        return None if known is None else (*known, groups)

    def conv_transpose(F, input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return _transposed(F, input, weight, bias, stride, padding, output_padding, groups, dilation, n)

    conv.__doc__ = f"{n}-d cross-correlation, ``(N, C, {size}), (O, C / groups, {kernel}) -> (N, O, {out})``.{example}"
    conv_transpose.__doc__ = (f"The adjoint of ``conv{n}d``: ``(N, C, {size}), (C, O / groups, {kernel}) -> "
        f"(N, O, {out})``.")
    composite(conv, name=f"conv{n}d", places=("torch", "functional"), plan=("convolution_forward", plan, False, 2))
    composite(conv_transpose, name=f"conv_transpose{n}d", places=("torch", "functional"))


_of_dimensions(1, "L", "k", "L'")
_of_dimensions(2, "H, W", "kh, kw", "H', W'", """

    >>> torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 2, 2])
    """)
_of_dimensions(3, "D, H, W", "kd, kh, kw", "D', H', W'")


@composite(places=("torch",))
def convolution(F, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """A convolution of any number of spatial dimensions, transposed or not."""
    n = weight.ndim - 2
    if transposed:
        return _transposed(F, input, weight, bias, stride, padding, output_padding, groups, dilation, n)
    return _convolve(F, input, weight, bias, stride, padding, dilation, groups, n, False)


@composite(places=("torch", "functional"), node="ConvTbcBackward0", whole=("input", "weight", "bias"))
def conv_tbc(F, input, weight, bias, pad=0):
    """1-d convolution of ``(time, batch, channels)``: ``(L, N, C), (k, C, O), (O,) -> (L', N, O)``."""
    for x, rank, what in ((input, 3, "Input"), (weight, 3, "Weight"), (bias, 1, "Bias")):
        if x.ndim != rank:
            raise RuntimeError(f"{what} must have {rank} dim{'s' if rank > 1 else ''}"
                f"{': time, batch, in_channel' if x is input else ''}")
    (long, batch, channels), (kernel, given, out) = input.shape, weight.shape
    if channels != given:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if bias.shape[0] != out:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    new = long - kernel + 1 + 2 * pad
    if new < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {new}: {[new, batch, out]}")
    bias = bias if F.dtype_of(bias) == F.dtype_of(input) else F.cast(bias, F.dtype_of(input))
    if not kernel or not new:
        return F.clone(F.expand(bias, (new, batch, out)))
    seen = min(long, new)
    F.view(F.narrow(input, 0, 0, seen), (seen * batch, channels))  # refuses the strides that PyTorch refuses
    padded = F.constant_pad_nd(input, (0, 0, 0, 0, pad, pad)) if pad else input
    columns = F.reshape(F.transpose(F.unfold(padded, 0, kernel, 1), 2, 3), (new * batch, kernel * channels))
    return F.view(F.addmm(bias, columns, F.reshape(weight, (kernel * channels, out))), (new, batch, out))


# -- windows as columns -----------------------------------------------------------------------------------------------


@operator(places=(), node="Im2ColBackward0", linear=True, grad=dict(
    input=lambda F, g, input_shape, kernel, dilation, padding, stride: F.fold_columns(g, input_shape[2:], kernel,
        dilation, padding, stride)))
def unfold_columns(input: Array, kernel, dilation, padding, stride):
    return K.im2col(input, kernel, stride, padding, dilation)


@operator(places=(), node="Col2ImBackward0", linear=True, grad=dict(
    input=lambda F, g, kernel, dilation, padding, stride: F.unfold_columns(g, kernel, dilation, padding, stride)))
def fold_columns(input: Array, size, kernel, dilation, padding, stride):
    return K.col2im(input, tuple(size), kernel, stride, padding, dilation)


def _sizes(kernel_size: Any, dilation: Any, padding: Any, stride: Any, checked: str) -> list[tuple[int, ...]]:
    """Those of the windows for two dimensions; ``checked``: what PyTorch looks at, in its order."""
    given = dict(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    rows = {name: ntuple(v, 2, name) for name, v in given.items()}
    for name in checked.split():
        high, wide = rows[name]
        if min(high, wide) <= 0:
            short = name.removesuffix("_size")
            raise RuntimeError(f"{name.replace('_', ' ')} should be greater than zero, but got {short}_height: {high} "
                f"{short}_width: {wide}")
    high, wide = rows["padding"]
    if min(high, wide) < 0:
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {high} pad_width: {wide}")
    check_largest(*rows.values())
    return list(rows.values())


def _unfolding(shape: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> list[tuple[int, ...]]:
    """What ``unfold_columns`` is told of the windows in an input of this ``shape``, if they fit."""
    if len(shape) not in (3, 4):
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}")
    how = kernel, dilate, pad, step = _sizes(kernel_size, dilation, padding, stride, "kernel_size dilation stride")
    blocks = tuple((s + 2 * p - d * (k - 1) - 1) // t + 1
        for s, k, d, p, t in zip(shape[-2:], kernel, dilate, pad, step))
    if min(blocks) < 1:
        raise RuntimeError(f"Given input with spatial size {tuple(shape[-2:])}, kernel_size={kernel}, "
            f"dilation={dilate}, padding={pad}, calculated shape of the array of sliding blocks as {blocks}, but its "
            "components must be at least one.")
    return how


def _unfold_plan(shape: Any, *sizes: Any) -> Any:
    return tuple(_unfolding(shape, *sizes)) if len(shape) == 4 else None


@composite(places=(), plan=("unfold_columns", _unfold_plan))
def unfold_windows(F, input, kernel_size, dilation=1, padding=0, stride=1):
    """Sliding windows as columns: ``(N, C, H, W) -> (N, C * kh * kw, L)``."""
    how = _unfolding(tuple(input.shape), kernel_size, dilation, padding, stride)
    x = input if input.ndim == 4 else F.unsqueeze(input, 0)
    if F.dtype_of(x).kind in "iu":
        raise unsupported("im2col_out_cpu", F.dtype_of(x))
    y = F.unfold_columns(x, *how)
    return y if input.ndim == 4 else F.squeeze(y, 0)


@composite
def fold(F, input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The adjoint of ``unfold``: overlapping windows are added up, ``(N, C * kh * kw, L) -> (N, C, H, W)``."""
    if input.ndim not in (2, 3):
        raise RuntimeError("Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
            f"dimensions for input, but got: {list(input.shape)}")
    size = ntuple(output_size, 2, "output_size")
    how = kernel, dilate, pad, step = _sizes(kernel_size, dilation, padding, stride, "kernel_size stride dilation")
    check_largest(size)
    x = input if input.ndim == 3 else F.unsqueeze(input, 0)
    if x.shape[1] % (kernel[0] * kernel[1]):
        raise RuntimeError("Expected size of input's dimension 1 to be divisible by the product of kernel_size, but "
            f"got input.size(1)={x.shape[1]} and kernel_size={kernel}.")
    blocks = [(s + 2 * p - d * (k - 1) - 1) // t + 1 for s, k, d, p, t in zip(size, kernel, dilate, pad, step)]
    if x.shape[2] != blocks[0] * blocks[1]:
        raise RuntimeError(f"Given output_size={size}, kernel_size={kernel}, dilation={dilate}, padding={pad}, "
            f"stride={step}, expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{blocks[0]} * {blocks[1]} = {blocks[0] * blocks[1]}, but got input.size(2)={x.shape[2]}.")
    y = F.fold_columns(x, size, *how)
    return y if input.ndim == 3 else F.squeeze(y, 0)
