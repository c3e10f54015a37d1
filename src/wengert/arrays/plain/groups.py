"""Group normalisation, out of the kernels for channels: one sample's channels, or groups, are the channels of a batch
of one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays import kernels as K
from wengert.arrays.array_likes import new_filled
from wengert.arrays.plain.widen import wide

if TYPE_CHECKING:
    from wengert.arrays.plain.rows import Needed
    from wengert.arrays.plain.widen import Array


def group_norm(x: Array, groups: int, weight: Array | None, bias: Array | None,
        eps: float) -> tuple[Array, Array, Array]:
    """Normalise groups of neighbouring channels (axis 1) of each sample, then scale and shift each channel.

    Returns ``(out, mean, rstd)``; the statistics are ``(samples, groups)``, float32 for half precision.
    """
    (n, c), inner = x.shape[:2], math.prod(x.shape[2:])
    if not x.size:
        empty = new_filled(x, np.zeros, (n, groups), wide(x).dtype)
        return x.copy(), empty, empty.copy()
    with np.errstate(all="ignore"):
        mean, var = K.channel_moments(x.reshape(1, n * groups, -1))
        rstd = 1 / np.sqrt(var + var.dtype.type(eps))
        scale = np.repeat(rstd.reshape(n, groups), c // groups, axis=1)
        if weight is not None:
            scale = scale * wide(weight)
        shift = -np.repeat(mean.reshape(n, groups), c // groups, axis=1) * scale
        if bias is not None:
            shift += wide(bias)
        out = K.channel_affine(x.reshape(1, n * c, inner), scale.reshape(-1), shift.reshape(-1))
    return out.reshape(x.shape), mean.reshape(n, groups), rstd.reshape(n, groups)


def group_norm_grad(g: Array, x: Array, mean: Array, rstd: Array, weight: Array | None, groups: int,
        needed: Needed = (True, True, True)) -> tuple[Array | None, Array | None, Array | None]:
    """Return the gradients of ``x``, ``weight`` and ``bias``; None for those not in ``needed``."""
    (n, c), inner = x.shape[:2], math.prod(x.shape[2:])
    if not x.size:
        grads = (np.zeros_like(x), new_filled(x, np.zeros, c, x.dtype), new_filled(x, np.zeros, c, x.dtype))
        return tuple(v if there else None for v, there in zip(grads, needed))  # type: ignore[return-value]
    z, flow = (v.reshape(1, n * c, inner) for v in (x, g))
    centre, spread = (np.repeat(v, c // groups, axis=1).reshape(-1) for v in (mean, rstd))
    ones = np.ones_like(spread)  # for sums that are not rounded to 16 bits
    _, along, total = K.batch_norm_grad(flow, z, centre, spread, ones, False, (False, True, True))
    assert along is not None and total is not None
    along, total = along.reshape(n, c), total.reshape(n, c)
    grad_x = None
    if needed[0]:
        w = np.ones((), spread.dtype) if weight is None else wide(weight)
        count = c // groups * inner
        both = [np.repeat((v * w).reshape(n, groups, -1).sum(axis=2) / count, c // groups, axis=1).reshape(-1)
            for v in (along, total)]
        slope = -spread * spread * both[0]
        rest = -spread * both[1] - slope * centre
        factor = spread * np.broadcast_to(w, (n, c)).reshape(-1)
        grad_x = K.channel_blend(flow, z, factor, slope, rest).reshape(x.shape)
    return (grad_x, along.sum(axis=0).astype(x.dtype) if needed[1] else None,
        total.sum(axis=0).astype(x.dtype) if needed[2] else None)
