"""The number types as the generator sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes as dt

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
FLOATS = tuple(_DIGITS)
COUNTABLE = ("uint8", "int8", "int16", "int32", "int64", *FLOATS)  # what most integer-valued distributions take


class Kind:
    """A number type. ``title``, ``c_name``: PyTorch's and C++'s names of it (``Long``, ``long int``).

    ``least``, ``greatest``: the finite range; ``digits``: bits of the mantissa of a real floating type, else 0;
    ``half``, ``wide``: whether it is one of 16 or 64 bits; ``part``: the type of the two parts of a complex type.
    """

    __slots__ = ("c_name", "digits", "dtype", "floating", "greatest", "half", "least", "name", "part", "title", "wide")

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype, self.name = dtype, dtype.name
        if self.name not in dt.SCALAR_NAMES:
            raise TypeError(f"no random numbers of type {dtype}")
        self.title, self.c_name, self.digits = dt.scalar_name(dtype), dt.c_name(dtype), _DIGITS.get(self.name, 0)
        self.floating = self.digits > 0
        self.half, self.wide = self.floating and dtype.itemsize == 2, self.digits == 53
        self.part: np.dtype | None = dt.of(dtype).to_real().np if dtype.kind in "cW" else None
        self.least: float = 0
        self.greatest: float = 1
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            self.least, self.greatest = int(limits.min), int(limits.max)
        elif self.floating:
            self.greatest = dt.largest(dtype)
            self.least = -self.greatest


_KINDS: dict[Any, Kind] = {}


def kind_of(dtype: Any) -> Kind:
    """The :class:`Kind` of a NumPy dtype, or of anything that names one."""
    kind = _KINDS.get(dtype)
    if kind is None:
        kind = _KINDS[dtype] = Kind(np.dtype(dtype))
    return kind


def require(kind: Kind, allowed: tuple[str, ...], kernel: str) -> None:
    """Refuse types that PyTorch has no such numbers of."""
    if kind.name not in allowed:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind.title}'")


def narrow(values: NDArray, dtype: np.dtype) -> NDArray:
    """``values`` as ``dtype``; the 16-bit floating types are reached by way of float32, as in PyTorch."""
    if values.dtype == dtype:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype.kind in "fV" and dtype.itemsize == 2:
            values = values.astype(np.float32)
        return values.astype(dtype)
