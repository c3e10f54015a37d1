"""Kernels that work along an axis: softmax, layer and RMS normalisation, per-channel statistics, and their gradients.

Half precision is computed in float32 and delivered in the input's dtype.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.array_likes import in_rows, new_filled
from wengert.arrays.plain import elementwise
from wengert.arrays.plain.widen import wide

if TYPE_CHECKING:
    from wengert.arrays.plain.widen import Array

    Needed = tuple[bool, bool, bool]


def softmax(x: Array, axis: int = -1) -> Array:
    """``exp(x) / sum(exp(x))`` along ``axis``. A row of only ``-inf`` gives NaN."""
    z = wide(x)
    if z.size == 0:
        return z.astype(x.dtype)
    with np.errstate(all="ignore"):
        z = np.subtract(z, z.max(axis=axis, keepdims=True))
        np.exp(z, out=z)
        z /= z.sum(axis=axis, keepdims=True)
    return in_rows(z.astype(x.dtype, copy=False))


def softmax_grad(g: Array, result: Array, axis: int = -1) -> Array:
    """``result * (g - sum(g * result))`` along ``axis``."""
    y, wide_g = wide(result), wide(g)
    with np.errstate(all="ignore"):
        z = wide_g * y
        z -= y * z.sum(axis=axis, keepdims=True)
    return in_rows(z.astype(g.dtype, copy=False))


def log_softmax(x: Array, axis: int = -1) -> Array:
    """``x - log(sum(exp(x)))`` along ``axis``."""
    z = wide(x)
    if z.size == 0:
        return z.astype(x.dtype)
    if x.dtype.itemsize == 2 and axis in (-1, x.ndim - 1):
        return half_log_softmax(x)
    with np.errstate(all="ignore"):
        z = np.subtract(z, z.max(axis=axis, keepdims=True))
        z -= np.log(np.exp(z).sum(axis=axis, keepdims=True))
    return in_rows(z.astype(x.dtype, copy=False))


def log_softmax_grad(g: Array, result: Array, axis: int = -1) -> Array:
    """``g - exp(result) * sum(g)`` along ``axis``."""
    wide_g = wide(g)
    with np.errstate(all="ignore"):
        z = np.exp(wide(result))
        z *= -wide_g.sum(axis=axis, keepdims=True)
        z += wide_g
    return in_rows(z.astype(g.dtype, copy=False))


def logsumexp(x: Array, axis: int) -> Array:
    """``log(sum(exp(x)))`` along ``axis``, which is kept: infinite where the largest is, minus infinity of nothing."""
    z = wide(x)
    with np.errstate(all="ignore"):
        high = z.max(axis=axis, keepdims=True) if z.size else z.sum(axis=axis, keepdims=True)
        high = np.where(np.isfinite(high), high, 0).astype(z.dtype)
        out = np.log(np.exp(z - high).sum(axis=axis, keepdims=True)) + high
    return out.astype(x.dtype, copy=False)


def logsumexp_grad(g: Array, x: Array, result: Array, axis: int) -> Array:
    """``g * exp(x - result)``; ``g`` and ``result`` with ``axis`` or without it."""
    shape = list(x.shape)
    shape[axis] = 1
    with np.errstate(all="ignore"):
        z = np.exp(wide(x) - wide(result).reshape(shape))
        z *= wide(g).reshape(shape)
    return z.astype(x.dtype, copy=False)


def _trailing(x: Array, dims: int) -> tuple[int, ...]:
    return tuple(range(x.ndim - dims, x.ndim))


def layer_norm(x: Array, dims: int, weight: Array | None, bias: Array | None, eps: float) -> tuple[Array, Array, Array]:
    """Normalise over the last ``dims`` axes, then scale and shift.

    Returns ``(out, mean, rstd)``; the statistics keep the reduced axes as 1 and are float32 for half precision.
    """
    axes, z = _trailing(x, dims), wide(x)
    with np.errstate(all="ignore"):
        mean = z.mean(axis=axes, keepdims=True) if z.size else new_filled(z, np.zeros, _kept(x, dims), z.dtype)
        z = z - mean
        rstd = 1 / np.sqrt((z * z).mean(axis=axes, keepdims=True) + z.dtype.type(eps)) if z.size else mean.copy()
        z *= rstd
        if weight is not None:
            z *= weight
        if bias is not None:
            z += bias
    return z.astype(x.dtype, copy=False), mean, rstd


def _kept(x: Array, dims: int) -> tuple[int, ...]:
    return (*x.shape[: x.ndim - dims], *([1] * dims))


def layer_norm_grad(g: Array, x: Array, mean: Array, rstd: Array, weight: Array | None, dims: int,
        needed: Needed = (True, True, True)) -> tuple[Array | None, Array | None, Array | None]:
    """Return the gradients of ``x``, ``weight`` and ``bias``; None for those not in ``needed``."""
    axes, lead, wide_g = _trailing(x, dims), tuple(range(x.ndim - dims)), wide(g)
    count = math.prod(x.shape[x.ndim - dims :])
    grad_x = grad_weight = grad_bias = None
    normal = (wide(x) - mean) * rstd if needed[0] or needed[1] else None
    if needed[0] and normal is not None:
        scaled = wide_g if weight is None else wide_g * weight
        grad_x = scaled - scaled.sum(axis=axes, keepdims=True) / max(count, 1)
        grad_x -= normal * ((scaled * normal).sum(axis=axes, keepdims=True) / max(count, 1))
        grad_x *= rstd
        grad_x = grad_x.astype(x.dtype, copy=False)
    if needed[1] and normal is not None:
        grad_weight = (wide_g * normal).sum(axis=lead).astype(x.dtype, copy=False)
    if needed[2]:
        grad_bias = wide_g.sum(axis=lead).astype(x.dtype, copy=False)
    return grad_x, grad_weight, grad_bias


def layer_norm_twice(u: Array, g: Array, x: Array, weight: Array | None, of_weight: Array | None,
        of_bias: Array | None, dims: int, eps: float, wants_weight: bool) -> tuple[Array, Array, Array | None]:
    """The gradients of ``layer_norm_grad``'s results in its arguments ``g``, ``x`` and ``weight``, where ``u``,
    ``of_weight`` and ``of_bias`` are those of its results. It is written so as to make few arrays.
    """
    n = math.prod(x.shape[x.ndim - dims:])
    u, flow = (np.ascontiguousarray(a).reshape(-1, n) for a in (u, g))
    of_weight, of_bias, scale = (None if a is None else a.reshape(-1) for a in (of_weight, of_bias, weight))
    normal, _, rstd = layer_norm(x, dims, None, None, eps)
    normal, rstd = normal.reshape(-1, n), rstd.reshape(-1, 1)

    def along_normal(a: Array) -> Array:
        return np.einsum("ij,ij->i", a, normal)[:, None] / n

    with np.errstate(all="ignore"):
        share = along_normal(u)
        part = normal * share
        along = u - u.mean(1, keepdims=True)
        along -= part
        along *= rstd
        scaled = flow.copy() if scale is None else flow * scale
        slope = u * along_normal(scaled)
        slope += np.multiply(scaled, share, out=part)
        slope *= -rstd
        if of_weight is not None:
            slope += np.multiply(flow, of_weight, out=part)
        twist = np.einsum("ij,ij->i", along, scaled)[:, None] / n
        twist += along_normal(slope)
        slope -= slope.mean(1, keepdims=True)
        slope -= np.multiply(normal, twist, out=part)
        slope *= rstd
        back = along if scale is None else np.multiply(along, scale, out=scaled)
        in_weight = np.einsum("ij,ij->j", flow, along).reshape(x.shape[x.ndim - dims:]) if wants_weight else None
        if of_weight is not None:
            back += np.multiply(normal, of_weight, out=part)
        if of_bias is not None:
            back += of_bias
    return back.reshape(g.shape), slope.reshape(x.shape), in_weight


def rms_norm(x: Array, dims: int, weight: Array | None, eps: float) -> tuple[Array, Array]:
    """Divide by the root of the mean square over the last ``dims`` axes, then scale. Returns ``(out, rstd)``."""
    axes, z = _trailing(x, dims), wide(x)
    with np.errstate(all="ignore"):
        square = (z * z).mean(axis=axes, keepdims=True) if z.size else new_filled(z, np.ones, _kept(x, dims), z.dtype)
        rstd = 1 / np.sqrt(square + z.dtype.type(eps))
        z = z * rstd
        if weight is not None:
            z *= weight
    return z.astype(x.dtype, copy=False), rstd


def rms_norm_grad(g: Array, x: Array, rstd: Array, weight: Array | None, dims: int,
        needed: tuple[bool, bool] = (True, True)) -> tuple[Array | None, Array | None]:
    """Return the gradients of ``x`` and ``weight``; None for those not in ``needed``."""
    axes, lead, wide_g = _trailing(x, dims), tuple(range(x.ndim - dims)), wide(g)
    count = max(math.prod(x.shape[x.ndim - dims :]), 1)
    normal = wide(x) * rstd
    grad_x = grad_weight = None
    if needed[0]:
        scaled = wide_g if weight is None else wide_g * weight
        grad_x = scaled - normal * ((scaled * normal).sum(axis=axes, keepdims=True) / count)
        grad_x *= rstd
        grad_x = grad_x.astype(x.dtype, copy=False)
    if needed[1]:
        grad_weight = (wide_g * normal).sum(axis=lead).astype(x.dtype, copy=False)
    return grad_x, grad_weight


def channel_moments(x: Array) -> tuple[Array, Array]:
    """Mean and biased variance of each channel (axis 1) of ``x``, over all other axes."""
    z, axes = wide(x), (0, *range(2, x.ndim))
    mean = z.mean(axis=axes)
    centred = z - mean.reshape(1, -1, *[1] * (x.ndim - 2))
    return mean, (centred * centred).mean(axis=axes)


def channel_affine(x: Array, scale: Array, shift: Array) -> Array:
    """``x * scale + shift`` with one scale and one shift for each channel (axis 1)."""
    shape = (1, -1, *[1] * (x.ndim - 2))
    value = wide(x) * scale.reshape(shape)
    value += shift.reshape(shape)
    return value.astype(x.dtype, copy=False)


def channel_rstd(variance: Array, eps: float) -> Array:
    """``1 / sqrt(variance + eps)``."""
    return 1 / np.sqrt(variance + variance.dtype.type(eps))  # type: ignore[no-any-return]


def statistics_moved(running: Array, batch: Array, momentum: float, factor: float) -> None:
    """Move ``running`` statistics, in place, by a share of the way to ``factor`` times those of a batch."""
    d = running.dtype.type
    running += d(momentum) * ((batch * batch.dtype.type(factor)).astype(running.dtype, copy=False) - running)


def channel_factors(mean: Array, rstd: Array, weight: Array | None, bias: Array | None) -> tuple[Array, Array]:
    """``scale`` and ``shift`` for which ``x * scale + shift`` is ``(x - mean) * rstd * weight + bias``."""
    scale = rstd if weight is None else rstd * weight
    shift = -mean * scale
    return scale, shift if bias is None else shift + bias


def channel_norm(x: Array, mean: Array, rstd: Array, weight: Array | None, bias: Array | None, then: str = "") -> Array:
    """``(x - mean) * rstd * weight + bias`` per channel (axis 1), and ``then`` of it: relu, relu6, silu, hardswish."""
    return activated(channel_affine(x, *channel_factors(mean, rstd, weight, bias)), then)


def activated(x: Array, then: str) -> Array:
    """The function of that name of ``x``; no name: ``x``."""
    if then == "relu6":
        return elementwise.hardtanh(x, 0, 6)
    return getattr(elementwise, then)(x) if then else x  # type: ignore[no-any-return]


def channel_blend(g: Array, x: Array, a: Array, b: Array, c: Array) -> Array:
    """``g * a + x * b + c`` with one ``a``, ``b`` and ``c`` for each channel (axis 1)."""
    shape = (1, -1, *[1] * (x.ndim - 2))
    value = wide(g) * a.reshape(shape)
    value += wide(x) * b.reshape(shape)
    value += c.reshape(shape)
    return value.astype(x.dtype, copy=False)


def batch_norm_grad(g: Array, x: Array, mean: Array, rstd: Array, weight: Array | None, training: bool,
        needed: Needed = (True, True, True)) -> tuple[Array | None, Array | None, Array | None]:
    """Gradients of ``(x - mean) * rstd * weight + bias`` per channel (axis 1); None for those not in ``needed``.

    With ``training``, ``mean`` and ``rstd`` were computed from ``x`` itself, and the gradient flows through them.
    """
    shape, axes, wide_g = (1, -1, *[1] * (g.ndim - 2)), (0, *range(2, g.ndim)), wide(g)
    if not (needed[0] or needed[1]):  # of the input nothing was remembered
        return None, None, wide_g.sum(axis=axes).astype(g.dtype)
    normal = (wide(x) - mean.reshape(shape)) * rstd.reshape(shape)
    total = wide_g.sum(axis=axes)
    along = (wide_g * normal).sum(axis=axes)
    grad_x = None
    if needed[0]:
        factor = rstd if weight is None else rstd * wide(weight)
        if training:
            count = max(x.size // max(x.shape[1], 1), 1)
            normal *= (along / count).reshape(shape)
            grad_x = np.subtract(wide_g, normal, out=normal)
            grad_x -= (total / count).reshape(shape)
            grad_x *= factor.reshape(shape)
        else:
            grad_x = wide_g * factor.reshape(shape)
        grad_x = grad_x.astype(x.dtype, copy=False)
    kind = x.dtype if weight is None else weight.dtype
    return grad_x, along.astype(kind) if needed[1] else None, total.astype(kind) if needed[2] else None


def half_log_softmax(x: Array) -> Array:
    """``log_softmax`` along the last dimension: the sum and its logarithm are rounded."""
    wide = x.astype(np.float32)
    with np.errstate(all="ignore"):
        away = wide - wide.max(-1, keepdims=True)
        total = np.add.reduce(np.exp(away), -1, keepdims=True).astype(x.dtype).astype(np.float32)
        return (away - np.log(total).astype(x.dtype).astype(np.float32)).astype(x.dtype)  # type: ignore[no-any-return]
