"""``nn.MultiheadAttention`` of nested tensors: within each part, where PyTorch has it."""

from __future__ import annotations

from typing import Any

from ..graph.modes import modes
from ..nn import functional as F
from ..tensor.autograd_meta import requires_grad
from ..tensor.functions import function
from ._strided import StridedNestedTensor, nested_from, pieces


def attend(module: Any, query: Any, key: Any, value: Any, key_padding_mask: Any, need_weights: bool, attn_mask: Any,
        average: bool) -> tuple[Any, Any]:
    """Self-attention in inference: ``(output, weights)``, the weights padded to the longest part; else refused."""
    why = _refusal(module, query, key, value, key_padding_mask, attn_mask)
    if why is not None:
        raise AssertionError("MultiheadAttention does not support NestedTensor outside of its fast path. The fast path "
            f"was not hit because {why}")
    rows = [module(p[None], p[None], p[None], need_weights=need_weights, average_attn_weights=average)
        for p in pieces(query)]
    output = nested_from([out.squeeze(0) for out, _ in rows])
    if not need_weights:
        return output, None
    longest = max(w.shape[-1] for _, w in rows)
    padded = [F.pad(w, (0, longest - w.shape[-1], 0, longest - w.shape[-1])) for _, w in rows]
    return output, function("cat")(padded)


def _refusal(module: Any, query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any) -> str | None:
    """Why not, in PyTorch's words."""
    learned = (query, module.in_proj_weight, module.in_proj_bias, module.out_proj.weight, module.out_proj.bias)
    reasons = (
        (query.dim() != 3, f"input not batched; expected query.dim() of 3 but got {query.dim()}"),
        (query is not key or key is not value,
            "non-self attention was used (query, key, and value are not the same Tensor)"),
        (module.in_proj_weight is None, "in_proj_weight was None"),
        (module.training, "training is enabled"),
        (module.num_heads % 2 != 0, "self.num_heads is not even"),
        (not module.batch_first, "batch_first was not True"),
        (module.bias_k is not None, "self.bias_k was not None"),
        (module.bias_v is not None, "self.bias_v was not None"),
        (module.add_zero_attn, "add_zero_attn was enabled"),
        (key_padding_mask is not None or attn_mask is not None,
            "supplying both src_key_padding_mask and src_mask at the same time is not supported with NestedTensor "
            "input"),
        (not isinstance(query, StridedNestedTensor), "some Tensor argument has_torch_function"),
        (modes().grad and any(t is not None and requires_grad(t) for t in learned),
            "grad is enabled and at least one of query or the input/output projection weights or biases requires_grad"),
    )
    return next((why for refused, why in reasons if refused), None)
