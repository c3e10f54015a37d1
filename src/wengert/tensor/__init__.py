"""The tensor: its types, its views and in-place writes, and the functions made from the table of operators."""

from __future__ import annotations

from ..arrays.dtypes import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .tensor import Tensor, wrap
from .types import Size, device

__all__ = [
    "Size", "Tensor", "bfloat16", "bool_", "complex64", "complex128", "device", "dtype", "float16",
    "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "wrap",
]
