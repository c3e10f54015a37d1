"""Scaled dot-product attention: the definition, with the scores of all heads in one array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wengert.arrays.plain.widen import Array


def _scores(query: Array, key: Array, mask: Array | None, causal: bool, scale: float) -> Any:
    """``softmax(scale * query @ key^T + mask)``, computed in one buffer."""
    s = np.matmul(query * query.dtype.type(scale), key.swapaxes(-1, -2))
    if mask is not None:
        if mask.dtype == bool:
            np.copyto(s, -np.inf, where=np.broadcast_to(~mask, s.shape))
        else:
            s += mask
    if causal:
        rows, columns = s.shape[-2:]
        np.copyto(s, -np.inf, where=~np.tri(rows, columns, dtype=np.bool_))
    if s.shape[-1] == 0:
        return s
    top = s.max(axis=-1, keepdims=True)
    np.copyto(top, 0, where=np.isneginf(top))  # a row that may look nowhere gives zeros, not NaN
    s -= top
    np.exp(s, out=s)
    total = s.sum(axis=-1, keepdims=True)
    np.copyto(total, 1, where=total == 0)
    s /= total
    return s


def attention(query: Array, key: Array, value: Array, mask: Array | None = None, causal: bool = False, scale: float = 1.0) -> Array:
    """Return ``softmax(scale * query @ key^T + mask) @ value`` of shapes ``(..., L, d), (..., S, d), (..., S, v) -> (..., L, v)``.

    ``mask``: broadcastable to the scores; boolean (what may be looked at) or added. ``causal``: query ``i`` looks at the
    keys up to ``i``. Vaswani et al., "Attention Is All You Need", 2017.

    >>> import numpy as np
    >>> attention(np.zeros((1, 2)), np.zeros((2, 2)), np.array([[1.0], [3.0]]))
    array([[2.]])
    """
    return np.matmul(_scores(query, key, mask, causal, scale), value)


def attention_grad(
    g: Array, query: Array, key: Array, value: Array, mask: Array | None, causal: bool, scale: float, needs: Sequence[bool]
) -> tuple[Array | None, Array | None, Array | None, Array | None]:
    """Return the gradients of query, key, value and the scores (of which the mask's is a sum); None where not in ``needs``."""
    p = _scores(query, key, mask, causal, scale)
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
