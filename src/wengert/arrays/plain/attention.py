"""Scaled dot-product attention: the definition, with the scores of all heads in one array, or of one head after the
other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.arrays.array_likes import counted, new_filled
from wengert.arrays.plain.widen import wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wengert.arrays.plain.widen import Array


_CACHED, _WORTH = 1 << 20, 1 << 12  # scores of all heads; of one


def scores(query: Array, key: Array, mask: Array | None, causal: bool, scale: float) -> Any:
    """``softmax(scale * query @ key^T + mask)``, computed in one buffer."""
    s, total = _exponentials(query, key, mask, causal, scale)
    s /= total
    return s


def _exponentials(query: Array, key: Array, mask: Array | None, causal: bool, scale: float) -> Any:
    """The weights times the sums of their rows, and these."""
    s = np.matmul(query * query.dtype.type(scale), key.swapaxes(-1, -2))
    if mask is not None:
        if mask.dtype == bool:
            np.copyto(s, -np.inf, where=np.broadcast_to(~mask, s.shape))
        else:
            s += mask
    if causal:
        rows, columns = s.shape[-2:]
        np.copyto(s, -np.inf, where=counted(s, columns) > counted(s, rows)[:, None])
    if s.shape[-1] == 0:
        return s, 1
    top = s.max(axis=-1, keepdims=True)
    np.copyto(top, 0, where=np.isneginf(top))  # a row that may look nowhere gives zeros, not NaN
    s -= top
    np.exp(s, out=s)
    total = s.sum(axis=-1, keepdims=True)
    np.copyto(total, 1, where=total == 0)
    return s, total


def _heads(query: Array, key: Array, value: Array, mask: Array | None) -> tuple[int, ...] | None:
    """The dimensions of the heads, where the scores of all of them together are too large for the cache; else None."""
    lead = query.shape[:-2]
    if not lead or lead != key.shape[:-2] or lead != value.shape[:-2] or (mask is not None and mask.shape[:-2] != lead):
        return None
    heads = int(np.prod(lead))
    size = query.shape[-2] * key.shape[-2]
    return lead if heads > 1 and heads * size > _CACHED and size >= _WORTH else None


def attention(query: Array, key: Array, value: Array, mask: Array | None = None, causal: bool = False,
        scale: float = 1.0) -> Array:
    """Return ``softmax(scale * query @ key^T + mask) @ value`` of shapes
    ``(..., L, d), (..., S, d), (..., S, v) -> (..., L, v)``.

    ``mask``: broadcastable to the scores; boolean (what may be looked at) or added. ``causal``: query ``i`` looks at
    the keys up to ``i``. Vaswani et al., "Attention Is All You Need", 2017.

    >>> import numpy as np
    >>> attention(np.zeros((1, 2)), np.zeros((2, 2)), np.array([[1.0], [3.0]]))
    array([[2.]])
    """
    lead = _heads(query, key, value, mask)
    if lead is None:
        return np.matmul(scores(query, key, mask, causal, scale), value)
    out = np.empty((*lead, query.shape[-2], value.shape[-1]), np.result_type(query, value))
    for h in np.ndindex(*lead):
        np.matmul(scores(query[h], key[h], None if mask is None else mask[h], causal, scale), value[h], out=out[h])
    return out


def attention_grad(g: Array, query: Array, key: Array, value: Array, mask: Array | None, causal: bool, scale: float,
        needs: Sequence[bool]) -> tuple[Array | None, Array | None, Array | None, Array | None]:
    """Gradients of query, key, value and the scores (the mask's is a sum of it); None where not in ``needs``."""
    lead = None if needs[3] else _heads(query, key, value, mask)
    if lead is not None:
        found = [new_filled(x, np.empty, x.shape, x.dtype) if need else None
            for x, need in zip((query, key, value), needs)]
        for h in np.ndindex(*lead):
            grads = attention_grad(g[h], query[h], key[h], value[h], None if mask is None else mask[h], causal, scale,
                needs)
            for whole, part in zip(found, grads):
                if whole is not None:
                    whole[h] = part
        return found[0], found[1], found[2], None
    p = scores(query, key, mask, causal, scale)
    gq = gk = gv = gm = None
    if needs[2]:
        gv = np.matmul(p.swapaxes(-1, -2), g)
    if needs[0] or needs[1] or needs[3]:
        d = np.matmul(g, value.swapaxes(-1, -2))
        d -= (d * p).sum(axis=-1, keepdims=True)
        d *= p
        if needs[3]:
            gm = d.copy() if needs[0] or needs[1] else d
        if needs[0] or needs[1]:
            d *= d.dtype.type(scale)
            gq = np.matmul(d, key) if needs[0] else None
            gk = np.matmul(d.swapaxes(-1, -2), query) if needs[1] else None
    return gq, gk, gv, gm


def half_attention(query: Array, key: Array, value: Array, mask: Array | None, causal: bool, scale: float) -> Array:
    """``attention`` of numbers of 16 bits in float32, where only the weights are rounded, before they are divided by
    the sums of their rows: as in PyTorch's kernel.
    """
    whole = None if mask is None else wide(mask) if mask.dtype != bool else mask
    with np.errstate(all="ignore"):
        s, total = _exponentials(wide(query), wide(key), whole, causal, scale)
        found = np.matmul(s.astype(query.dtype).astype(np.float32), wide(value)) / total
    return found.astype(query.dtype)  # type: ignore[no-any-return]


def half_attention_grad(g: Array, query: Array, key: Array, value: Array, mask: Array | None, causal: bool,
        scale: float, needs: Sequence[bool]) -> tuple[Array | None, ...]:
    """``attention_grad`` of numbers of 16 bits: in float32, rounded once."""
    whole = None if mask is None else wide(mask) if mask.dtype != bool else mask
    found = attention_grad(wide(g), wide(query), wide(key), wide(value), whole, causal, scale, needs)
    return tuple(None if a is None else a.astype(query.dtype) for a in found)
