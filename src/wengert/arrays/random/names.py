"""The number types: what PyTorch's messages call them, and what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import FLOAT8


class Kind:
    """A number type as the generator sees it.

    Attributes:
        dtype: NumPy's.
        title: PyTorch's name of it (``Long``); c_name: C++'s (``long int``).
        least, greatest: the finite range; Python integers for integral types.
        digits: bits of the mantissa of floating types, 0 for others.
        floating: whether it is a real floating type; half: whether of 16 bits; wide: whether of 64.
        part: the type of the two parts of a complex type, else None.
    """

    __slots__ = ("c_name", "digits", "dtype", "floating", "greatest", "half", "least", "name", "part", "title", "wide")

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype, self.name = dtype, dtype.name
        if self.name not in _TITLES:
            raise TypeError(f"no random numbers of type {dtype}")
        self.title, self.c_name, self.digits = _TITLES[self.name]
        self.floating = self.digits > 0
        self.half, self.wide = self.floating and dtype.itemsize == 2, self.digits == 53
        self.part: np.dtype | None = _PARTS.get(self.name)
        self.least: float
        self.greatest: float
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            self.least, self.greatest = int(limits.min), int(limits.max)
        elif self.floating:
            self.greatest = (2.0 - 2.0**-7) * 2.0**127 if self.name == "bfloat16" else float(np.finfo(dtype).max)
            self.least = -self.greatest
        else:
            self.least, self.greatest = 0, 1


_PARTS: dict[str, np.dtype] = {"complex32": np.dtype(np.float16), "complex64": np.dtype(np.float32),
    "complex128": np.dtype(np.float64)}
_TITLES = {
    "bool": ("Bool", "bool", 0),
    "uint8": ("Byte", "unsigned char", 0),
    "int8": ("Char", "signed char", 0),
    "int16": ("Short", "short int", 0),
    "int32": ("Int", "int", 0),
    "int64": ("Long", "long int", 0),
    "uint16": ("UInt16", "short unsigned int", 0),
    "uint32": ("UInt32", "unsigned int", 0),
    "uint64": ("UInt64", "long unsigned int", 0),
    "float16": ("Half", "c10::Half", 11),
    "bfloat16": ("BFloat16", "c10::BFloat16", 8),
    # of which there are no random numbers
    **{d.name: (d.name.capitalize(), f"c10::{d.name.capitalize()}", 0) for d in FLOAT8},
    "float32": ("Float", "float", 24),
    "float64": ("Double", "double", 53),
    "complex32": ("ComplexHalf", "c10::complex<c10::Half>", 0),
    "complex64": ("ComplexFloat", "c10::complex<float>", 0),
    "complex128": ("ComplexDouble", "c10::complex<double>", 0),
}
_KINDS: dict[Any, Kind] = {}


def kind_of(dtype: Any) -> Kind:
    """The :class:`Kind` of a NumPy dtype, or of anything that names one."""
    kind = _KINDS.get(dtype)
    if kind is None:
        kind = _KINDS[dtype] = Kind(np.dtype(dtype))
    return kind


FLOATS = ("float16", "bfloat16", "float32", "float64")
COUNTABLE = ("uint8", "int8", "int16", "int32", "int64", *FLOATS)
"""What most integer-valued distributions are made for."""


def require(kind: Kind, allowed: tuple[str, ...], kernel: str) -> None:
    """Refuse types that PyTorch has no such numbers of."""
    if kind.name not in allowed:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind.title}'")
