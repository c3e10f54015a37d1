"""Inputs for tests of operators."""

from __future__ import annotations

from typing import Any

from ...tensor.creation import tensor
from ...tensor.surface import PLACES


def mask_not_all_zeros(shape: Any) -> Any:
    """A random mask of which at least one element is set."""
    if not all(n > 0 for n in shape):
        raise AssertionError("a mask of no elements has none that is set")
    while True:
        mask = PLACES["torch"]["randn"](shape).gt(0)
        if mask.sum() > 0:
            return mask


def bernoulli_scalar() -> Any:
    """A random bit as a 0-d tensor."""
    return tensor(0, dtype=bool).bernoulli_()
