"""What PyTorch calls each type in its messages, and what each type can hold."""

from __future__ import annotations

import numpy as np

TORCH_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float16": "Half", "bfloat16": "BFloat16",
    "float32": "Float", "float64": "Double", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip
C_NAMES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
}  # fmt: skip


def limits(dtype: np.dtype) -> tuple[float, float]:
    """The least and greatest finite value of a type; Python integers for integral types."""
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return int(info.min), int(info.max)
    if dtype.name == "bfloat16":
        largest = (2.0 - 2.0**-7) * 2.0**127
    else:
        largest = float(np.finfo(dtype).max)
    return -largest, largest
