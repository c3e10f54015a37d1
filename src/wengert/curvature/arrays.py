"""Tensors as arrays of NumPy, whatever their type and device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..tensor import float16, float32, float64

if TYPE_CHECKING:
    import numpy as np

    from ..tensor import Tensor

KNOWN = (float16, float32, float64)  # types that NumPy has too


def array_of(t: Tensor) -> np.ndarray:
    """The numbers of a tensor; of a type that NumPy does not have in single precision."""
    return (t if t.dtype in KNOWN else t.float()).cpu().numpy()
