"""Normalisations.

Each has a fused gradient for raw arrays and the same gradient written in other operators, which is what higher
derivatives go through. In a recorded walk a rule is not given the statistics, which depend on the input: the fused
gradients of layer and batch normalisation, one step there, compute them again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from .operator import Array, family
from .pointwise import widened
from .refusals import unsupported

operator, composite = family("functional")


def _count(x: Any, axes: Any) -> int:
    return max(math.prod(x.shape[a] for a in axes), 1)


def _moments(F: Any, x: Any, axes: Any, eps: float) -> tuple[Any, Any]:
    """Mean and reciprocal standard deviation over ``axes``, kept as ones."""
    n = _count(x, axes)
    mean = F.sum(x, axes, True) / n
    centred = x - mean
    return mean, F.rsqrt(F.sum(centred * centred, axes, True) / n + eps)


def _back(F: Any, scaled: Any, normal: Any, rstd: Any, axes: Any) -> Any:
    """The gradient in numbers that were normalised over ``axes``; ``scaled``: that of the result times the weight."""
    n = _count(normal, axes)
    return rstd * (scaled - F.sum(scaled, axes, True) / n - normal * (F.sum(scaled * normal, axes, True) / n))


_three: dict = dict(outputs=("grad_input", "grad_weight", "grad_bias"), places=())


def _twice(F: Any, g: Any, needs: Any, flow: Any, weight: Any, normal: Any, rstd: Any, average: Any,
        project: Any) -> Any:
    """The gradients of the gradients of a normalisation in ``(flow, input, weight)``, where ``flow`` is what came in.

    The gradient in the input is ``project(flow * weight)``. ``project`` is linear and symmetric; it depends on the
    input by ``normal``, the normalised numbers, and by ``rstd``, unless the statistics are fixed. ``average``: over
    what is normalised together; None with fixed statistics.
    """
    of_input, of_weight, of_bias = g
    scaled = flow if weight is None else flow * weight
    along = None if of_input is None else project(of_input)
    back = slope = in_weight = None
    if needs[0]:
        back = F.expand(of_bias, tuple(flow.shape)) if of_bias is not None else None
        if of_weight is not None:
            back = of_weight * normal if back is None else back + of_weight * normal
        if along is not None:
            along_weight = along if weight is None else along * weight
            back = along_weight if back is None else back + along_weight
    if needs[1]:
        if of_input is not None and average is not None:
            slope = (of_input * average(scaled * normal) + scaled * average(of_input * normal)) * -rstd
        if of_weight is not None:
            slope = of_weight * flow if slope is None else slope + of_weight * flow
        slope = None if slope is None else project(slope)
        if along is not None and average is not None:
            slope = slope - average(along * scaled) * rstd * normal
    if needs[2] and along is not None:
        in_weight = flow * along
    return back, slope, in_weight


def _twice_by_channel(g: Any, needs: Any, flow: Any, x: Any, weight: Any, mean: Any, rstd: Any, pooled: Any) -> Any:
    """The same for arrays whose statistics belong to channels (axis 1), in few passes: all that is asked for are sums
    over channels, and mixtures of arrays with numbers for each channel. ``pooled`` makes averages, over what is
    normalised together, of sums over channels; None with fixed statistics. ``g[0]`` is given.
    """
    of_input, of_weight, of_bias = g
    one, zero = np.ones_like(rstd), np.zeros_like(rstd)
    weight, of_weight, of_bias = (d if v is None else v for v, d in ((weight, one), (of_weight, zero), (of_bias, zero)))

    def sums(a: Any, b: Any, *given: Any) -> Any:
        return K.batch_norm_grad(a, b, *given, None, True, (False, True, True))[1:]

    cross, _ = sums(of_input, flow, zero, one)
    back = slope = None
    scale, middle, along = weight * rstd, zero, zero
    if pooled is not None:
        (of_normal, of_all), (flow_normal, flow_all) = sums(of_input, x, mean, rstd), sums(flow, x, mean, rstd)
        middle, along = pooled(of_all), pooled(of_normal)
        cross = cross - middle * flow_all - along * flow_normal
    if needs[0]:
        on_x = (of_weight - scale * along) * rstd
        back = K.channel_blend(of_input, x, scale, on_x, of_bias - scale * middle - on_x * mean)
    if needs[1] and pooled is None:
        slope = None if g[1] is None else K.channel_affine(flow, of_weight * rstd, zero)
    elif needs[1]:
        on_input, on_flow = -rstd * pooled(weight * flow_normal), of_weight - scale * along
        shift = -rstd * pooled(on_input * of_all + on_flow * flow_all)
        on_x = pooled(on_input * of_normal + on_flow * flow_normal) + pooled(scale * cross)
        on_x = -rstd * rstd * on_x
        slope = K.channel_blend(of_input, flow, rstd * on_input, rstd * on_flow, shift - on_x * mean)
        slope = K.channel_blend(slope, x, one, on_x, zero)
    return back, slope, rstd * cross if needs[2] else None


def _layer_norm_grad_raw(g: Any, input: Any, mean: Any, rstd: Any, weight: Any, bias: Any, dims: int, eps: float,
        needs: Any) -> Any:
    if mean is None:
        _, mean, rstd = K.layer_norm(input, dims, None, None, eps)
    return K.layer_norm_grad(g, input, mean, rstd, weight, dims, tuple(needs))


def _layer_norm_twice(F: Any, g: Any, needs: Any, grad_output: Any, input: Any, weight: Any, dims: Any,
        eps: Any) -> Any:
    axes = tuple(range(input.ndim - dims, input.ndim))
    n = _count(input, axes)
    if F.raw:
        *g, grad_output, input, weight = map(widened, (*g, grad_output, input, weight))
        if g[0] is not None and type(input) is np.ndarray and input.size:
            back, slope, in_weight = K.layer_norm_twice(g[0], grad_output, input, weight, *g[1:], dims, eps, needs[4])
            return back, slope, None, None, in_weight, None
        normal, mean, rstd = K.layer_norm(input, dims, None, None, eps)
    else:
        mean, rstd = _moments(F, input, axes, eps)
        normal, mean = (input - mean) * rstd, None

    def project(x: Any) -> Any:
        return F.layer_norm_grad(x, input, mean, rstd if F.raw else None, None, None, dims, eps,
            (True, False, False))[0]

    back, slope, in_weight = _twice(F, g, (needs[0], needs[1], needs[4]), grad_output, weight, normal, rstd,
        lambda x: F.sum(x, axes, True) / n, project)
    return back, slope, None, None, in_weight, None


@composite(raw=_layer_norm_grad_raw, node="NativeLayerNormBackwardBackward0",
    whole=("g", "input", "mean", "rstd", "weight", "bias"), optional=("mean", "rstd", "weight", "bias"),
    grad=_layer_norm_twice, **_three)
def layer_norm_grad(F, g, input, mean, rstd, weight, bias, dims, eps, needs):
    axes, lead = tuple(range(input.ndim - dims, input.ndim)), tuple(range(input.ndim - dims))
    mean, rstd = _moments(F, input, axes, eps)
    normal = (input - mean) * rstd
    gx = _back(F, g if weight is None else g * weight, normal, rstd, axes) if needs[0] else None
    gw = (F.sum(g * normal, lead) if lead else g * normal) if needs[1] else None
    return gx, gw, (F.sum(g, lead) if lead else g) if needs[2] else None


@operator(
    grad=lambda F, g, needs, input, mean, rstd, weight, bias, dims, eps: F.layer_norm_grad(g,
        g if input is None else input, mean, rstd, weight, bias, dims, eps, needs),
    wrt=("input", "weight", "bias"), keeps={"weight": ("input",), "input": ("input", "weight")}, aux=("mean", "rstd"),
    places=(), node="NativeLayerNormBackward0", layout="rows")
def layer_norm_over(input: Array, weight: Array | None, bias: Array | None, dims, eps):
    return K.layer_norm(input, dims, weight, bias, eps)


@composite(places=("torch", "functional"))
def layer_norm(F, input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    """Normalise over the last dimensions (those of ``normalized_shape``), then scale and shift. Ba et al., 2016.

    >>> torch.nn.functional.layer_norm(torch.tensor([[1.0, 3.0]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    if isinstance(normalized_shape, int):
        raise TypeError("layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int")
    shape = tuple(normalized_shape)
    _check_shape(input, shape, weight, bias)
    check_types(F, input, "LayerNormKernelImpl", weight, bias)
    return F.layer_norm_over(input, weight, bias, len(shape), eps)


def check_types(F: Any, input: Any, kernel: str, *parameters: Any) -> None:
    """Refuse integers, and parameters of another type than the input (float32 ones may go with a 16-bit input)."""
    d = F.dtype_of(input)
    if d.kind not in "fV":
        raise unsupported(kernel, d)
    for p in parameters:
        if p is not None and F.dtype_of(p) != d and not (d.itemsize == 2 and F.dtype_of(p) == np.float32):
            single = F.dtype_of(p) == np.float32
            what = "all inputs must share same datatype." if single else "expect parameter to have scalar type of Float"
            raise RuntimeError(f"mixed dtype (CPU): {what}")


def _check_shape(input: Any, shape: Any, weight: Any, bias: Any = None) -> None:
    if len(shape) < 1:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []")
    for label, p in (("weight", weight), ("bias", bias)):
        if p is not None and tuple(p.shape) != shape:
            raise RuntimeError(f"Expected {label} to be of same shape as normalized_shape, but got {label} of shape "
                f"{list(p.shape)} and normalized_shape = {list(shape)}")
    if input.ndim < len(shape) or tuple(input.shape[input.ndim - len(shape) :]) != shape:
        stars = ", ".join(["*", *map(str, shape)])
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape [{stars}], but got input "
            f"of size{list(input.shape)}")


@composite(raw=lambda g, x, rstd, weight, dims, eps, needs: K.rms_norm_grad(g, x, rstd, weight, dims, tuple(needs)),
    places=())
def rms_norm_grad(F, g, input, rstd, weight, dims, eps, needs):
    axes, lead = tuple(range(input.ndim - dims, input.ndim)), tuple(range(input.ndim - dims))
    n = _count(input, axes)
    rstd = F.rsqrt(F.sum(input * input, axes, True) / n + eps)
    normal = input * rstd
    scaled = g if weight is None else g * weight
    gx = rstd * (scaled - normal * (F.sum(scaled * normal, axes, True) / n)) if needs[0] else None
    return gx, (F.sum(g * normal, lead) if lead else g * normal) if needs[1] else None


@operator(
    grad=lambda F, g, needs, input, rstd, weight, dims, eps: F.rms_norm_grad(g, input, rstd, weight, dims, eps, needs),
    wrt=("input", "weight"), keeps={"weight": ("input",)}, aux=("rstd",), places=(), node="MulBackward0",
    layout="channels")
def rms_norm_over(input: Array, weight: Array | None, dims, eps):
    return K.rms_norm(input, dims, weight, eps)


@composite(places=("torch", "functional"))
def rms_norm(F, input, normalized_shape, weight=None, eps=None):
    """Divide by the root of the mean square over the last dimensions, then scale. Zhang and Sennrich, 2019."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    _check_shape(input, shape, weight)
    if eps is None:
        d = F.dtype_of(input)
        eps = float(np.finfo(d if d.kind in "fc" and d.itemsize > 2 else np.float32).eps)
    if F.is_complex(input):  # as in PyTorch, the mean of squares, not of their absolute values
        scale = F.rsqrt(F.mean(input * input, tuple(range(-len(shape), 0)), True) + eps)
        return input * scale if weight is None else input * scale * weight
    narrow, wide = F.dtype_of(input), None if weight is None else F.dtype_of(weight)
    # So that the gradient of the weight is not rounded to the type of the input.
    if wide is not None and wide.kind == "f" and wide.itemsize > narrow.itemsize:
        return F.cast(F.rms_norm_over(F.cast(input, wide), weight, len(shape), eps), narrow)
    return F.rms_norm_over(input, weight, len(shape), eps)


def _per_channel(F: Any, v: Any, ndim: int) -> Any:
    return F.reshape(v, (1, -1) + (1,) * (ndim - 2))


def _batch_norm_grad_raw(g: Any, input: Any, weight: Any, mean: Any, rstd: Any, training: bool, eps: float,
        needs: Any) -> Any:
    if mean is None and (needs[0] or needs[1]):
        mean, var = K.channel_moments(input)
        rstd = K.channel_rstd(var, eps)
    return K.batch_norm_grad(g, input, mean, rstd, weight, training, tuple(needs))


def _batch_norm_twice(F: Any, g: Any, needs: Any, grad_output: Any, input: Any, weight: Any, mean: Any, rstd: Any,
        training: Any, eps: Any) -> Any:
    shape, axes, ndim = tuple(grad_output.shape), (0, *range(2, grad_output.ndim)), grad_output.ndim
    if F.raw:
        *g, grad_output, input, weight = map(widened, (*g, grad_output, input, weight))
        if g[0] is not None and type(input) is np.ndarray and input.size:
            if training:
                mean, rstd = K.channel_moments(input)
                rstd = K.channel_rstd(rstd, eps)
            n = input.size // rstd.size
            return *_twice_by_channel(g, needs, grad_output, input, weight, mean, rstd,
                (lambda total: total / n) if training else None), None, None
    of_input, *others = g
    of_weight, of_bias = (None if v is None else _per_channel(F, v, ndim) for v in others)
    if input is None:  # only the gradient in the bias is needed
        return None if of_bias is None else F.expand(of_bias, shape), None, None, None, None
    n = _count(input, axes)
    known: Any = (None, None)
    if not training:
        mean, spread = (_per_channel(F, v, ndim) for v in (mean, rstd))
    elif F.raw:
        mean, var = K.channel_moments(input)
        known = mean, K.channel_rstd(var, eps)
        mean, spread = (_per_channel(F, v, ndim) for v in known)
    else:
        mean, spread = _moments(F, input, axes, eps)

    def project(x: Any) -> Any:
        return F.batch_norm_grad(x, input, None, *known, True, eps, (True, False, False))[0] if training else x * spread

    scale = None if weight is None else _per_channel(F, weight, ndim)
    given = (of_input, of_weight, of_bias), needs, grad_output, scale, (input - mean) * spread, spread
    back, slope, in_weight = _twice(F, *given, (lambda x: F.sum(x, axes, True) / n) if training else None, project)
    return back, slope, None if in_weight is None else F.sum(in_weight, axes), None, None


@composite(raw=_batch_norm_grad_raw, node="NativeBatchNormBackwardBackward0",
    whole=("g", "input", "weight", "mean", "rstd"), optional=("input", "weight", "mean", "rstd"),
    grad=_batch_norm_twice, **_three)
def batch_norm_grad(F, g, input, weight, mean, rstd, training, eps, needs):
    axes = (0, *range(2, g.ndim))
    if not (needs[0] or needs[1]):  # the input was not remembered
        return None, None, F.sum(g, axes)
    if training:
        mean, rstd = _moments(F, input, axes, eps)
    else:
        mean, rstd = (_per_channel(F, v, input.ndim) for v in (mean, rstd))
    normal = (input - mean) * rstd
    scaled = g if weight is None else g * _per_channel(F, weight, input.ndim)
    gx = None if not needs[0] else _back(F, scaled, normal, rstd, axes) if training else scaled * rstd
    return gx, F.sum(g * normal, axes) if needs[1] else None, F.sum(g, axes) if needs[2] else None


def _batch_rule(F: Any, g: Any, needs: Any, input: Any, weight: Any, mean: Any, rstd: Any, fixed: Any, eps: Any) -> Any:
    if fixed is not None and not F.raw:
        mean, rstd = (F.constant(v) for v in fixed.arrays)
    return F.batch_norm_grad(g, input, weight, mean, rstd, fixed is None, eps, needs)


class Fixed:
    """Running statistics as they were, for the gradient in evaluation mode."""

    __slots__ = ("arrays",)

    def __init__(self, *arrays: Any) -> None:
        self.arrays = arrays


@operator(
    grad=_batch_rule, wrt=("input", "weight", "bias"), keeps={"weight": ("input",), "input": ("input", "weight")},
    aux=("mean", "rstd"), places=(), node="NativeBatchNormBackward0", layout=("channels",))
def batch_norm_channels(input: Array, weight: Array | None, bias: Array | None, fixed, eps, moments):
    """Normalise each channel (dimension 1) by ``fixed`` statistics, or by its own, which ``moments`` receives."""
    if fixed is None:
        mean, var = K.channel_moments(input)
        moments[:] = (mean, var)
        rstd = K.channel_rstd(var, eps)
        if dt.is_half(input.dtype) and (weight is None or weight.dtype == input.dtype):  # PyTorch keeps them in it
            mean, rstd = (K.cast(K.cast(v, input.dtype), v.dtype) for v in (mean, rstd))
    else:
        mean, rstd = fixed.arrays
    return K.channel_norm(input, mean, rstd, weight, bias), mean, rstd


@operator(places=(), layout="channels")
def batch_norm_then(input: Array, weight: Array | None, bias: Array | None, mean: Array, var: Array, eps, then):
    """``batch_norm`` in evaluation, and ``then`` of it (relu, relu6, silu, hardswish) in the same pass; no gradient."""
    return K.channel_norm(input, mean, K.channel_rstd(var, eps), weight, bias, then)


def _by_group(F: Any, v: Any, groups: int) -> Any:
    return F.reshape(v, (v.shape[0], groups, v.shape[1] // groups * math.prod(v.shape[2:])))


def _group_norm_grad_raw(g: Any, input: Any, mean: Any, rstd: Any, weight: Any, groups: int, eps: float,
        needs: Any) -> Any:
    if mean is None:
        _, mean, rstd = K.group_norm(input, groups, None, None, eps)
    return K.group_norm_grad(g, input, mean, rstd, weight, groups, tuple(needs))


def _group_norm_twice_raw(g: Any, needs: Any, flow: Any, x: Any, weight: Any, groups: int, eps: float) -> Any:
    """By channels of each example, as if they were all of one."""
    shape, each = x.shape, x.shape[1] // groups
    n = each * math.prod(shape[2:])
    mean, var = K.channel_moments(x.reshape(1, shape[0] * groups, n))
    rstd = K.channel_rstd(var, eps)
    of_input, flow, x = (v.reshape(1, shape[0] * shape[1], -1) for v in (g[0], flow, x))
    others = (None if v is None else np.tile(v, shape[0]) for v in (*g[1:], weight))
    of_weight, of_bias, weight = others
    back, slope, in_weight = _twice_by_channel((of_input, of_weight, of_bias), needs, flow, x, weight,
        np.repeat(mean, each), np.repeat(rstd, each),
        lambda total: np.repeat(total.reshape(-1, each).sum(-1) / n, each))
    in_weight = None if in_weight is None else in_weight.reshape(shape[:2]).sum(0)
    back, slope = (None if v is None else v.reshape(shape) for v in (back, slope))
    return back, slope, None, None, in_weight


def _group_norm_twice(F: Any, g: Any, needs: Any, grad_output: Any, input: Any, weight: Any, groups: Any,
        eps: Any) -> Any:
    if F.raw:
        *g, grad_output, input, weight = map(widened, (*g, grad_output, input, weight))
        if g[0] is not None and type(input) is np.ndarray and input.size:
            return _group_norm_twice_raw(g, (needs[0], needs[1], needs[4]), grad_output, input, weight, groups, eps)
    shape, axes = tuple(input.shape), (2, 3)

    def grouped(x: Any) -> Any:
        rows = shape[0] if x.ndim > 1 else 1
        return F.reshape(x, (rows, groups, shape[1] // groups, math.prod(shape[2:]) if x.ndim > 1 else 1))

    parts: list[Any] = [None if x is None else grouped(x) for x in (*g, grad_output, input, weight)]
    rows, n = parts[4], _count(parts[4], axes)
    mean, rstd = _moments(F, rows, axes, eps)
    normal = (rows - mean) * rstd
    back, slope, in_weight = _twice(F, parts[:3], (needs[0], needs[1], needs[4]), parts[3], parts[5], normal, rstd,
        lambda x: F.sum(x, axes, True) / n, lambda x: _back(F, x, normal, rstd, axes))
    in_weight = None if in_weight is None else F.reshape(F.sum(in_weight, (0, 3)), (shape[1],))
    back, slope = (None if x is None else F.reshape(F.expand(x, tuple(rows.shape)), shape) for x in (back, slope))
    return back, slope, None, None, in_weight


@composite(raw=_group_norm_grad_raw, whole=("g", "input", "mean", "rstd", "weight"),
    optional=("mean", "rstd", "weight"), grad=_group_norm_twice, **_three)
def group_norm_grad(F, g, input, mean, rstd, weight, groups, eps, needs):
    shape, axes = tuple(input.shape), (0, *range(2, input.ndim))
    rows = _by_group(F, input, groups)
    mean, rstd = _moments(F, rows, (2,), eps)
    normal = (rows - mean) * rstd
    scaled = _by_group(F, g if weight is None else g * _per_channel(F, weight, input.ndim), groups)
    gx = F.reshape(_back(F, scaled, normal, rstd, (2,)), shape) if needs[0] else None
    return gx, F.sum(g * F.reshape(normal, shape), axes) if needs[1] else None, F.sum(g, axes) if needs[2] else None


@operator(
    grad=lambda F, g, needs, input, mean, rstd, weight, groups, eps: F.group_norm_grad(g, g if input is None else input,
        mean, rstd, weight, groups, eps, needs),
    wrt=("input", "weight", "bias"), keeps={"weight": ("input",), "input": ("input", "weight")}, aux=("mean", "rstd"),
    places=(), node="NativeGroupNormBackward0", layout=("channels",))
def group_norm_over(input: Array, weight: Array | None, bias: Array | None, groups, eps):
    return K.group_norm(input, groups, weight, bias, eps)


@composite(places=("torch", "functional"))
def group_norm(F, input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    """Normalise groups of channels together. Wu and He, 2018."""
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    n, c = input.shape[:2]
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if c % num_groups:
        raise RuntimeError("Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}")
    for label, p in (("weight", weight), ("bias", bias)):
        if p is not None and (p.ndim != 1 or p.shape[0] != c):
            raise RuntimeError(f"Expected {label} to be a vector of size equal to the number of channels in input, but "
                f"got {label} of shape {list(p.shape)} and input of shape {list(input.shape)}")
    check_types(F, input, "GroupNormKernelImpl", weight, bias)
    if n * c // num_groups * math.prod(input.shape[2:]) == 1:
        raise ValueError("Expected more than 1 value per channel when training, got input size "
            f"{[1, num_groups, *input.shape[2:]]}")
    return F.group_norm_over(input, weight, bias, num_groups, eps)


@composite
def local_response_norm(F, input, size, alpha=1e-4, beta=0.75, k=1.0):
    """``x / (k + alpha * mean of squares of neighbouring channels)^beta``. Krizhevsky et al., 2012."""
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if 0 in input.shape:
        return F.clone(input)
    square, around = F.unsqueeze(input * input, 1), (size // 2, (size - 1) // 2)
    if input.ndim == 3:
        mean = F.squeeze(F.avg_pool2d(F.constant_pad_nd(square, (0, 0, *around)), (size, 1), 1), 1)
    else:
        n, c, rows = input.shape[:3]
        padded = F.constant_pad_nd(F.reshape(square, (n, 1, c, rows, -1)), (0, 0, 0, 0, *around))
        mean = F.reshape(F.squeeze(F.avg_pool3d(padded, (size, 1, 1), 1), 1), tuple(input.shape))
    return input / (mean * alpha + k) ** beta
