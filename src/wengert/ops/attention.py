"""Attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import kernels as K
from ..arrays.array_likes import as_array
from ..arrays.dtypes import F32, c_name, is_half
from ..arrays.layouts import in_order_of
from ..arrays.plain.attention import scores
from .operator import Array, family
from .pointwise import widened

operator, composite = family("functional")


def _attention_raw(*args: Any) -> Any:
    return (K.half_attention_grad if is_half(args[1].dtype) else K.attention_grad)(*args)


def _plus(a: Any, b: Any) -> Any:
    """A sum of temporary arrays, of which one may be missing, in the memory of the first."""
    return b if a is None else a if b is None else K.add(a, b, a)


def _mean_free(x: Any, p: Any) -> Any:
    """``x`` without the means of its rows, weighted by ``p``, in place."""
    x -= np.einsum("...ij,...ij->...i", p, x)[..., None]
    return x


def _attention_twice(g: Any, needs: Any, flow: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool,
        scale: float, _: Any) -> Any:
    """The gradients of the gradients in ``(flow, query, key, value)``, ``flow`` being what came in."""
    of_query, of_key, of_value, of_scores = map(widened, g)
    flow, query, key, value, mask = map(widened, (flow, query, key, value, mask))
    query, scale = query * query.dtype.type(scale), query.dtype.type(scale)

    def times(a: Any, b: Any) -> Any:
        return None if a is None or b is None else K.stacked(a, b)

    def turned(x: Any) -> Any:
        return None if x is None else x.swapaxes(-1, -2)

    p = scores(query, key, mask, causal, 1.0)
    spread = _mean_free(times(flow, turned(value)), p)  # times p: the gradient in the scores
    along = _plus(times(query, turned(of_key)), None if of_query is None else times(of_query * scale, turned(key)))
    along = _plus(along, of_scores)
    slope = times(flow, turned(of_value))  # in the weights
    if along is not None:
        slope = _plus(K.multiply(_mean_free(along, p), spread), slope)
        along *= p
    spread *= p
    slope = None if slope is None else K.softmax_grad(slope, p, -1)
    of_key = None if of_key is None else of_key * scale
    return (_plus(times(p, of_value), times(along, value)),
        None if slope is None else _plus(times(slope, key * scale), times(spread, of_key)),
        None if slope is None else _plus(times(turned(slope), query),
            None if of_query is None else times(turned(spread), of_query * scale)), times(turned(along), flow), None)


@composite(raw=_attention_raw, places=(), whole=("g", "query", "key", "value", "mask"), optional=("mask",),
    grad=("replayed", _attention_twice), outputs=("grad_query", "grad_key", "grad_value", "grad_scores"))
def attention_grad(F, g, query, key, value, mask, causal, scale, needs):
    p = F.attention_weights(query, key, mask, causal, scale)
    d = F.softmax_grad(F.matmul(g, F.transpose(value, -2, -1)), p, -1)
    gq = F.matmul(d, key) * scale if needs[0] else None
    gk = F.matmul(F.transpose(d, -2, -1), query) * scale if needs[1] else None
    return gq, gk, F.matmul(F.transpose(p, -2, -1), g) if needs[2] else None, d if needs[3] else None


@composite(places=())
def attention_weights(F, query, key, mask, causal, scale):
    s = F.matmul(query * scale, F.transpose(key, -2, -1))
    allowed = mask if mask is not None and F.dtype_of(mask).kind == "b" else None
    if mask is not None and allowed is None:
        s = s + mask
    if causal:
        triangle = F.constant(np.tri(*s.shape[-2:], dtype=np.bool_))
        allowed = triangle if allowed is None else allowed & triangle
    if allowed is not None:
        s = F.where(allowed, s, F.constant(as_array(-np.inf, F.dtype_of(s))))
    p = F.softmax(s, -1)
    if allowed is None and mask is None:
        return p
    return F.where(p == p, p, F.new_zeros(p, ()))  # rows that may look nowhere


@operator(
    grad=lambda F, g, needs, query, key, value, mask, causal, scale: F.attention_grad(
        g, query, key, value, mask, causal, scale, (*needs, False))[:3],
    wrt=("query", "key", "value"), places=(), node="ScaledDotProductFlashAttentionForCpuBackward0")
def attention(query: Array, key: Array, value: Array, mask: Array | None, causal, scale):
    """In four dimensions the result lies in memory as the query does."""
    out = (K.half_attention if is_half(query.dtype) else K.attention)(query, key, value, mask, causal, scale)
    relaid = out.ndim == 4 and out.shape == query.shape and not query.flags.c_contiguous
    return in_order_of(out, (query,)) if relaid else out


@operator(grad=dict(input=lambda F, g, result, dim: F.softmax_grad(g, result, dim)), places=())
def safe_softmax(input: Array, dim=-1):
    """The softmax of rows (``dim`` is the last), and zeros for a row that may look nowhere."""
    p, nowhere = K.softmax(input, -1), np.isneginf(input)
    return np.where(nowhere.all(-1, keepdims=True), np.zeros((), p.dtype), p) if nowhere.any() else p


def _in_steps(F: Any, query: Any, key: Any, value: Any, mask: Any, causal: Any, scale: float, drop: Any) -> Any:
    """PyTorch's steps where its fused kernel does not serve: other than four dimensions, learnt masks, dropout."""
    root = math.sqrt(abs(scale))
    s = F.matmul(query * (-root if scale < 0 else root), F.transpose(key, -2, -1) * root)
    if causal:
        mask = F.constant(np.where(np.tri(*s.shape[-2:], dtype=np.bool_), 0, -np.inf).astype(F.dtype_of(s)))
    if mask is not None and F.dtype_of(mask).kind == "b":
        zero, low = (F.constant(as_array(x, F.dtype_of(s))) for x in (0, -np.inf))
        mask = F.where(mask, zero, low)
    p = F.safe_softmax(s if mask is None else s + mask)
    return F.matmul(p if drop is None else drop(p), value)


def _repeat_heads(F: Any, x: Any, heads: int) -> Any:
    """``x`` ``(..., h, S, d)`` with each head repeated, one after the other, up to ``heads``."""
    *lead, h, s, d = x.shape
    if h == 0 or heads % h:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in query")
    return F.reshape(F.expand(F.unsqueeze(x, -3), (*lead, h, heads // h, s, d)), (*lead, heads, s, d))


@composite
def scaled_dot_product_attention(F, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
        enable_gqa=False, *, dropout=None):
    """``softmax(query key^T / sqrt(d) + mask) value``. Vaswani et al., 2017.

    Shapes: ``(..., L, d), (..., S, d), (..., S, v) -> (..., L, v)``. A boolean mask marks what may be looked at. What
    is remembered for the gradient is only the inputs: the weights are computed again.
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if query.ndim < 2 or key.ndim < 2 or value.ndim < 2:
        raise RuntimeError("Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead.")
    types = [F.dtype_of(x) for x in (query, key, value)]
    if not types[0] == types[1] == types[2]:
        names = [c_name(d) for d in types]
        raise RuntimeError("Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{names[0]} key.dtype: {names[1]} and value.dtype: {names[2]} instead.")
    mask_type = None if attn_mask is None else F.dtype_of(attn_mask)
    if mask_type is not None and mask_type.kind != "b" and mask_type not in (F32, types[0]):
        raise RuntimeError("Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {c_name(mask_type)} and  query.dtype: {c_name(types[0])} instead.")
    if types[0].kind in "iub":
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: float != {c_name(types[0])}")
    if enable_gqa:
        key, value = (_repeat_heads(F, t, query.shape[-3]) for t in (key, value))
    if 0 in value.shape or not query.shape[-2]:  # the sizes of nothing are not looked at
        nothing = F.new_zeros(query, (*query.shape[:-1], value.shape[-1]))
        return nothing + (F.sum(query) + F.sum(key) + F.sum(value)) * 0
    factor = 1.0 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    dropped, learnt = dropout_p > 0.0, attn_mask is not None and F.followed(attn_mask)
    steps = dropped or learnt or (query.ndim != 4 and any(map(F.followed, (query, key, value))))
    if steps and types[0].itemsize > 2:
        drop = (lambda p: dropout(p, dropout_p)) if dropped else None
        return _in_steps(F, query, key, value, attn_mask, is_causal, factor, drop)
    if dropped:
        p = F.attention_weights(query, key, attn_mask, is_causal, factor)
        return F.matmul(dropout(p, dropout_p), value)
    return F.attention(query, key, value, attn_mask, is_causal, factor)


@composite(places=("torch",))
def _transformer_encoder_layer_fwd(F, src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu,
        norm_first, eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2,
        ffn_bias_2, mask=None, mask_type=None):
    """A whole encoder layer without dropout, ``(N, S, embed_dim)`` to the same shape.

    ``mask``: numbers to add to the scores. ``mask_type``: 0 ``(S, S)``, 1 ``(N, S)``, else ``(N, heads, S, S)``.
    """
    n, s, _ = src.shape
    if mask is not None and mask_type == 1:
        mask = F.view(mask, (n, 1, 1, s))

    def attention(x):
        parts = F.view(F.linear(x, qkv_weight, qkv_bias), (n, s, 3, num_heads, embed_dim // num_heads))
        query, key, value = F.unbind(F.permute(parts, (2, 0, 3, 1, 4)))
        y = F.scaled_dot_product_attention(query, key, value, mask)
        return F.linear(F.reshape(F.transpose(y, 1, 2), (n, s, embed_dim)), proj_weight, proj_bias)

    def feed_forward(x):
        hidden = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(hidden) if use_gelu else F.relu(hidden), ffn_weight_2, ffn_bias_2)

    def norm_1(x):
        return F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def norm_2(x):
        return F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = src + attention(norm_1(src))
        return x + feed_forward(norm_2(x))
    x = norm_1(src + attention(src))
    return norm_2(x + feed_forward(x))
