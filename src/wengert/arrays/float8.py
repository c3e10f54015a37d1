"""Floating-point numbers of eight bits, rounded as PyTorch rounds them; and complex numbers of two halves.

The arrays are of ``ml_dtypes``' types. Its conversions agree with PyTorch's except for what is too large, what is no
number, and ``float8_e8m0fnu``, which keeps the exponent alone; those are decided here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import C64, FLOAT8_IN_USE, RARE_IN_USE


def narrowed(a: Any, dtype: np.dtype) -> np.ndarray:
    """The numbers of ``a`` in a type of eight bits: to nearest even, by way of float32.

    Beyond the largest of ``float8_e4m3fn`` is the largest; of ``float8_e5m2``, infinity; of the types without either,
    NaN. ``float8_e8m0fnu`` takes the power of two that is nearest to the absolute value.
    """
    if dtype.type is np.void:
        raise NotImplementedError("\"copy_kernel\" not implemented for 'Float4_e2m1fn_x2'")
    x = np.asarray(a)
    x = np.ascontiguousarray((x.real if x.dtype.kind == "c" else x).astype(np.float32)).reshape(x.shape)
    if dtype.name == "float8_e8m0fnu":
        return _exponents(x).view(dtype)
    if dtype.name == "float8_e4m3fn":
        return np.clip(x, np.float32(-448), np.float32(448)).astype(dtype)
    found = x.astype(dtype)
    if dtype.name == "float8_e5m2":
        bits, none = found.view(np.uint8), np.isnan(x)
        if none.any():
            bits[none] |= 0x7F
    return found


def _exponents(x: np.ndarray) -> np.ndarray:
    """The biased exponents of float32 numbers, rounded to nearest even; 255 for what is not finite."""
    bits = x.view(np.uint32)
    exponent, rest = (bits >> 23) & 0xFF, bits & 0x7FFFFF
    up = (rest > 0x400000) | ((rest == 0x400000) & (exponent > 0))
    return np.where(exponent == 255, 255, exponent + up).astype(np.uint8)


def converted(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """``a.astype(dtype)`` of any types, as PyTorch converts.

    >>> import ml_dtypes
    >>> from wengert.arrays.dtypes import float8_e4m3fn
    >>> converted(np.array([1.0, 1000.0]), float8_e4m3fn.np).astype(float)
    array([  1., 448.])
    """
    if not RARE_IN_USE:
        return a.astype(dtype)
    if dtype.kind == "W" and a.dtype != dtype:
        return converted(a, C64).astype(dtype)
    if a.dtype.kind == "W" and a.dtype != dtype:
        wide = a.astype(C64)
        return converted(wide if dtype.kind in "cb" else wide.real, dtype)
    if dtype in FLOAT8_IN_USE and a.dtype != dtype:
        return narrowed(a, dtype)
    if a.dtype in FLOAT8_IN_USE and a.dtype != dtype:
        if a.dtype.type is np.void:
            raise NotImplementedError("\"copy_kernel\" not implemented for 'Float4_e2m1fn_x2'")
        return a.astype(np.float32).astype(dtype)
    return a.astype(dtype)


_PARTS = np.dtype([("real", np.float16), ("imag", np.float16)])


def real_of(a: Any) -> Any:
    """``a.real``, as a view of complex32 too."""
    return a.view(_PARTS)["real"] if a.dtype.kind == "W" else a.real


def imag_of(a: Any) -> Any:
    """``a.imag``, as a view of complex32 too."""
    return a.view(_PARTS)["imag"] if a.dtype.kind == "W" else a.imag
