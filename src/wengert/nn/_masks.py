"""Attention masks in one form: floating, to be added to the scores."""

from __future__ import annotations

import warnings
from typing import Any

from wengert.nn._tensors import full, triu, zeros_like
from wengert.tensor import Tensor, bool_


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
