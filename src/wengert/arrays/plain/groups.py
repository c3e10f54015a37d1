"""Group normalisation, out of the kernels for channels: one sample's channels, or groups, are the channels of a batch
of one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays import kernels as K
from wengert.arrays.array_likes import new_filled
from wengert.arrays.layouts import inside_out
from wengert.arrays.plain.widen import wide

if TYPE_CHECKING:
    from typing import Any

    from wengert.arrays.plain.rows import Needed
    from wengert.arrays.plain.widen import Array


_FEW_SAMPLES = 64


def _sampled(x: Array) -> bool:
    """Whether the channels of ``x`` lie innermost in memory, and the kernels are called for each of its samples."""
    return x.dtype.kind == "f" and x.dtype.itemsize > 2 and len(x) <= _FEW_SAMPLES and inside_out(x) is not None


def _statistics(x: Array, groups: int) -> tuple[Array, Array]:
    """Mean and variance of each group of each sample, one after another."""
    (n, c) = x.shape[:2]
    if not _sampled(x):
        return K.channel_moments(x.reshape(1, n * groups, -1))
    rows = [K.channel_moments(x[i : i + 1]) for i in range(n)]
    mean, var = (np.array(v, np.float64).reshape(n * groups, c // groups) for v in zip(*rows))
    whole = mean.mean(1)
    var = var.mean(1) + np.square(mean - whole[:, None]).mean(1)
    return whole.astype(x.dtype), var.astype(x.dtype)


def _by_channel(kernel: Any, *given: Array) -> Array:
    """``kernel`` on arrays of images and numbers for each channel of each sample."""
    x, n, c = given[0], *given[0].shape[:2]
    if not _sampled(x):
        return kernel(*(v.reshape(1, n * c, -1) if v.ndim > 2 else v.reshape(-1) for v in given)).reshape(x.shape)
    out = np.empty_like(x)
    for i in range(n):
        out[i] = kernel(*(v[i : i + 1] if v.ndim > 2 else np.ascontiguousarray(v.reshape(n, c)[i]) for v in given))[0]
    return out


def group_norm(x: Array, groups: int, weight: Array | None, bias: Array | None,
        eps: float) -> tuple[Array, Array, Array]:
    """Normalise groups of neighbouring channels (axis 1) of each sample, then scale and shift each channel.

    Returns ``(out, mean, rstd)``; the statistics are ``(samples, groups)``, float32 for half precision.
    """
    n, c = x.shape[:2]
    if not x.size:
        empty = new_filled(x, np.zeros, (n, groups), wide(x).dtype)
        return x.copy(), empty, empty.copy()
    with np.errstate(all="ignore"):
        mean, var = _statistics(x, groups)
        rstd = 1 / np.sqrt(var + var.dtype.type(eps))
        scale = np.repeat(rstd.reshape(n, groups), c // groups, axis=1)
        if weight is not None:
            scale = scale * wide(weight)
        shift = -np.repeat(mean.reshape(n, groups), c // groups, axis=1) * scale
        if bias is not None:
            shift += wide(bias)
        out = _by_channel(K.channel_affine, x, scale, shift)
    return out, mean.reshape(n, groups), rstd.reshape(n, groups)


def _sums(g: Array, x: Array, *statistics: Array) -> tuple[Array, Array]:
    """Sums over each channel of each sample: of ``g`` times the normalised ``x``, and of ``g``."""
    n, c = x.shape[:2]
    if _sampled(x):
        rows = [K.batch_norm_grad(g[i : i + 1], x[i : i + 1], *(v[i * c : i * c + c] for v in statistics), False,
            (False, True, True))[1:] for i in range(n)]
        along, total = (np.array(v) for v in zip(*rows))
        return along, total
    z, flow = (v.reshape(1, n * c, -1) for v in (x, g))
    _, along, total = K.batch_norm_grad(flow, z, *statistics, False, (False, True, True))
    assert along is not None and total is not None
    return along.reshape(n, c), total.reshape(n, c)


def group_norm_grad(g: Array, x: Array, mean: Array, rstd: Array, weight: Array | None, groups: int,
        needed: Needed = (True, True, True)) -> tuple[Array | None, Array | None, Array | None]:
    """Return the gradients of ``x``, ``weight`` and ``bias``; None for those not in ``needed``."""
    (n, c), inner = x.shape[:2], math.prod(x.shape[2:])
    if not x.size:
        grads = (np.zeros_like(x), new_filled(x, np.zeros, c, x.dtype), new_filled(x, np.zeros, c, x.dtype))
        return tuple(v if there else None for v, there in zip(grads, needed))  # type: ignore[return-value]
    centre, spread = (np.repeat(v, c // groups, axis=1).reshape(-1) for v in (mean, rstd))
    ones = np.ones_like(spread)  # for sums that are not rounded to 16 bits
    along, total = _sums(g, x, centre, spread, ones)
    grad_x = None
    if needed[0]:
        w = np.ones((), spread.dtype) if weight is None else wide(weight)
        count = c // groups * inner
        both = [np.repeat((v * w).reshape(n, groups, -1).sum(axis=2) / count, c // groups, axis=1).reshape(-1)
            for v in (along, total)]
        slope = -spread * spread * both[0]
        rest = -spread * both[1] - slope * centre
        factor = spread * np.broadcast_to(w, (n, c)).reshape(-1)
        grad_x = _by_channel(K.channel_blend, g, x, factor, slope, rest)
    return (grad_x, along.sum(axis=0).astype(x.dtype) if needed[1] else None,
        total.sum(axis=0).astype(x.dtype) if needed[2] else None)
