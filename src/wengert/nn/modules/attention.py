"""Multi-head attention, and its masks in one form: floating, to be added to the scores."""

from __future__ import annotations

import warnings
from typing import Any

from wengert.nn import functional as F
from wengert.nn._tensors import empty, full, triu, zeros_like
from wengert.nn.init import constant_, xavier_normal_, xavier_uniform_
from wengert.nn.parameter import Parameter
from wengert.tensor import Tensor, bool_

from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


def canonical_mask(mask: Tensor | None, name: str, dtype: Any, other: Tensor | None = None,
        other_name: str = "") -> Tensor | None:
    """``mask`` as ``dtype``: ``-inf`` where a boolean mask is True, floating masks unchanged.

    Refuses other types; warns where ``other``, a mask used together with it, has another type.
    """
    if mask is None:
        return None
    if mask.dtype != bool_ and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and mask.dtype != other.dtype:
        warnings.warn(f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3)
    if mask.is_floating_point():
        return mask
    return zeros_like(mask, dtype=dtype).masked_fill_(mask, float("-inf"))


def causal_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """(size, size): ``-inf`` above the diagonal, 0 elsewhere."""
    return triu(full((size, size), float("-inf"), dtype=dtype, device=device), diagonal=1)


def is_causal_mask(mask: Tensor | None, is_causal: bool | None, size: int | None) -> bool:
    """Whether a mask is the causal one; without ``is_causal``, it is compared."""
    if is_causal is not None or mask is None:
        return is_causal is True
    causal = causal_mask(mask.size(-2) if size is None else size, device=mask.device, dtype=mask.dtype)
    return mask.size() == causal.size() and bool((mask == causal).all())


class MultiheadAttention(Module):
    """Attention of several heads (Vaswani et al., 2017), with learned projections in and out.

    ``forward(query, key, value)`` with shapes (L, N, embed_dim), (S, N, kdim), (S, N, vdim), the batch first with
    ``batch_first``, or without a batch, gives ``(output, weights)``: output like the query; weights (N, L, S), averaged
    over the heads unless ``average_attn_weights=False``, or None with ``need_weights=False`` (which is faster).
    Masks: True, or ``-inf``, where attention is not allowed.

    >>> attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = torch.zeros(1, 5, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([1, 5, 8]), torch.Size([1, 5, 5]))
    """

    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
            add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None,
            batch_first: bool = False, device: Any = None, dtype: Any = None) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError("embed_dim and num_heads must be greater than 0, "
                f"got embed_dim={embed_dim} and num_heads={num_heads} instead")
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        factory = {"device": device, "dtype": dtype}
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        joint = {"in_proj_weight": (3 * embed_dim, embed_dim)}
        apart = {f"{name}_proj_weight": (embed_dim, size)
            for name, size in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim))}
        used, unused = (joint, apart) if self._qkv_same_embed_dim else (apart, joint)
        for name, shape in used.items():
            self.register_parameter(name, Parameter(empty(shape, **factory)))
        for name in unused:
            self.register_parameter(name, None)
        self.register_parameter("in_proj_bias", Parameter(empty(3 * embed_dim, **factory)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **factory)
        if add_bias_kv:
            self.bias_k = Parameter(empty((1, 1, embed_dim), **factory))
            self.bias_v = Parameter(empty((1, 1, embed_dim), **factory))
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            constant_(self.in_proj_bias, 0.0)
            constant_(self.out_proj.bias, 0.0)  # type: ignore[arg-type]
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                xavier_normal_(bias)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
            need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
            is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
        if query.is_nested or key.is_nested or value.is_nested:
            from wengert.nested._multihead import attend

            return attend(self, query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights)
        key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", query.dtype, attn_mask, "attn_mask")
        attn_mask = canonical_mask(attn_mask, "attn_mask", query.dtype)
        swap = self.batch_first and query.dim() == 3
        if swap:  # equal inputs stay one object: the projection looks for that
            same_key, same_value = key is query, value is key
            query = query.transpose(1, 0)
            key = query if same_key else key.transpose(1, 0)
            value = key if same_value else value.transpose(1, 0)
        output, weights = F.multi_head_attention_forward(query, key, value, self.embed_dim, self.num_heads,
            self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, training=self.training, key_padding_mask=key_padding_mask,
            need_weights=need_weights, attn_mask=attn_mask, use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal)
        return (output.transpose(1, 0) if swap else output), weights

    def merge_masks(self, attn_mask: Tensor | None, key_padding_mask: Tensor | None,
            query: Tensor) -> tuple[Tensor | None, int | None]:
        """Both masks as one that broadcasts to (N, heads, L, S), and its kind: 1 padding alone, 2 with attention."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2
