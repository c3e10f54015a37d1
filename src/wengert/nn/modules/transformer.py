"""The transformer (Vaswani et al., 2017): encoder, decoder, and their layers."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

from wengert.graph import is_grad_enabled
from wengert.graph.modes import modes
from wengert.nn import functional as F
from wengert.nn.init import xavier_uniform_
from wengert.tensor import Tensor
from wengert.tensor.functions import function

from .activation import GELU, ReLU
from .attention import MultiheadAttention, canonical_mask, causal_mask, is_causal_mask
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

Activation = str | Callable[[Tensor], Tensor]

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer"]


def _sequence_length(src: Tensor, batch_first: bool) -> int:
    # nested ones have none, and no mask
    return 0 if src.is_nested else src.size(1 if src.dim() == 3 and batch_first else 0)


class _Layer(Module):
    """What the two kinds of layers share: self-attention, the feed-forward block, and norms and dropouts."""

    _blocks = 0  # attention, and the feed-forward one

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
            activation: Activation = "relu", layer_norm_eps: float = 1e-5, batch_first: bool = False,
            norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        for name in ("self_attn", "multihead_attn")[: self._blocks - 1]:
            self.add_module(name,
                MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **factory))
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **factory)
        self.norm_first = norm_first
        for i in range(1, self._blocks + 1):
            self.add_module(f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory))
        for i in range(1, self._blocks + 1):
            self.add_module(f"dropout{i}", Dropout(dropout))
        if isinstance(activation, str):
            if activation not in ("relu", "gelu"):
                raise RuntimeError(f"activation should be relu/gelu, not {activation}")
            activation = getattr(F, activation)
        is_relu = activation is F.relu or isinstance(activation, ReLU)
        is_gelu = activation is F.gelu or isinstance(activation, GELU)
        self.activation_relu_or_gelu = 1 if is_relu else 2 if is_gelu else 0
        self.activation: Any = activation

    def _sa_block(self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None,
            is_causal: bool = False) -> Tensor:
        x = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False,
            is_causal=is_causal)[0]
        return self.dropout1(x)

    def _ff_block(self, x: Tensor) -> Tensor:
        x = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return getattr(self, f"dropout{self._blocks}")(x)


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward block, each added to its input and normalized: (S, N, d_model) -> the same.

    ``norm_first`` normalizes before the blocks instead (Xiong et al., 2020).

    >>> layer = torch.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> layer(torch.rand(10, 3, 8)).shape
    torch.Size([10, 3, 8])
    """

    _blocks = 2

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
            is_causal: bool = False) -> Tensor:
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype, src_mask, "src_mask")
        mask = canonical_mask(src_mask, "src_mask", src.dtype)
        if modes().watchers and self._is_fused(src):
            return self._fused(src, mask, padding)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask, padding, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, mask, padding, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _is_fused(self, src: Tensor) -> bool:
        """Whether PyTorch computes the layer by one function, which under autocast casts all that it is given.

        Elsewhere the one function and the blocks give the same numbers.
        """
        from wengert.amp import is_autocast_enabled

        attention = self.self_attn
        return (is_autocast_enabled("cpu") and not self.training and src.dim() == 3 and attention.batch_first
            and attention.in_proj_bias is not None and attention._qkv_same_embed_dim
            and bool(self.activation_relu_or_gelu) and self.norm1.eps == self.norm2.eps
            and attention.num_heads % 2 == 0 and not src.is_nested
            and not any(m._forward_hooks or m._forward_pre_hooks for m in self.modules())
            and not (is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in self.parameters()))))

    def _fused(self, src: Tensor, mask: Tensor | None, padding: Tensor | None) -> Tensor:
        own, first, second = self.self_attn, self.norm1, self.norm2
        return function("_transformer_encoder_layer_fwd")(src, own.embed_dim, own.num_heads, own.in_proj_weight,
            own.in_proj_bias, own.out_proj.weight, own.out_proj.bias, self.activation_relu_or_gelu == 2,
            self.norm_first, first.eps, first.weight, first.bias, second.weight, second.bias, self.linear1.weight,
            self.linear1.bias, self.linear2.weight, self.linear2.bias, *own.merge_masks(mask, padding, src))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and a feed-forward block: (T, N, d_model) -> the same."""

    _blocks = 3

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
            tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
            tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, *other))
        return self.norm3(x + self._ff_block(x))

    def _mha_block(self, x: Tensor, mem: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None,
            is_causal: bool = False) -> Tensor:
        x = self.multihead_attn(x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
            is_causal=is_causal, need_weights=False)[0]
        return self.dropout2(x)


class TransformerEncoder(Module):
    """Copies of an encoder layer one after the other, and a last norm.

    In evaluation without gradients, positions that a boolean padding mask hides come out of the layers as zeros where
    PyTorch leaves them out (``enable_nested_tensor``).
    """

    def __init__(self, encoder_layer: Any, num_layers: int, norm: Module | None = None,
            enable_nested_tensor: bool = True, mask_check: bool = True) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor = self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        why_not = _why_not_nested(encoder_layer)
        if enable_nested_tensor and why_not:
            warnings.warn(f"enable_nested_tensor is True, but self.use_nested_tensor is False because {why_not}",
                stacklevel=2)
            self.use_nested_tensor = False

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
            is_causal: bool | None = None) -> Tensor:
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype, mask, "mask")
        mask = canonical_mask(mask, "mask", src.dtype)
        first: Any = self.layers[0]
        causal = is_causal_mask(mask, is_causal, _sequence_length(src, first.self_attn.batch_first))
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if mask is None and padding is not None and self._leaves_out_padding(src, padding):
            output = output.masked_fill((padding != 0).unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _leaves_out_padding(self, src: Tensor, padding: Tensor) -> bool:
        if not self.use_nested_tensor or self.layers[0].training or src.dim() != 3:
            return False
        if is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in self.layers[0].parameters())):
            return False
        hidden = padding != 0  # left-aligned: nothing follows the first hidden position
        return not self.mask_check or bool((hidden[:, 1:] | ~hidden[:, :-1]).all())


def _why_not_nested(layer: Any) -> str:
    """Why PyTorch would not leave out padding for this layer; empty where it would."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention: Any = layer.self_attn
    reasons = {
        "encoder_layer.norm_first was True": layer.norm_first,
        "encoder_layer.self_attn.batch_first was not True"
        "(use batch_first for better inference performance)": not attention.batch_first,
        "encoder_layer.self_attn._qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
        "encoder_layer.self_attn was passed bias=False": attention.in_proj_bias is None,
        "encoder_layer.activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        "encoder_layer.self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


class TransformerDecoder(Module):
    """Copies of a decoder layer one after the other, and a last norm."""

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
            tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
            tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:
        first: Any = self.layers[0]
        causal = is_causal_mask(tgt_mask, tgt_is_causal, _sequence_length(tgt, first.self_attn.batch_first))
        output = tgt
        for layer in self.layers:
            output = layer(output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal, memory_is_causal=memory_is_causal)
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """Encoder and decoder: ``forward(src, tgt)`` with (S, N, d_model), (T, N, d_model) -> (T, N, d_model).

    The batch comes first with ``batch_first``. Masks: True, or ``-inf``, where attention is not allowed;
    ``generate_square_subsequent_mask`` makes the causal one.
    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
            dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = "relu",
            custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
            batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None,
            dtype: Any = None) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)

        self.encoder = custom_encoder if custom_encoder is not None else TransformerEncoder(
            TransformerEncoderLayer(*layer, **factory), num_encoder_layers, norm())
        self.decoder = custom_decoder if custom_decoder is not None else TransformerDecoder(
            TransformerDecoderLayer(*layer, **factory), num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for param in self.parameters():
            if param.dim() > 1:
                xavier_uniform_(param)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The mask that hides the future: ``-inf`` above the diagonal.

        >>> torch.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return causal_mask(sz, device=device, dtype=dtype)

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
            memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
            tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
            src_is_causal: bool | None = None, tgt_is_causal: bool | None = None,
            memory_is_causal: bool = False) -> Tensor:
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)
