"""The number types as the generator sees them, and roundings that NumPy has no operator for.

PyTorch's compiler contracts ``x * width + low`` into one fused operation, which rounds once. Rounding twice gives other
bits in up to half of the values, so it is reproduced here: exactly, but for subnormal results and widths above 2**900.
"""

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


# -- roundings ---------------------------------------------------------------------------------------------------------

_SPLITTER = float((1 << 27) + 1)
_BELOW_FLOAT32 = np.uint64((1 << 29) - 1)
_TIE = np.uint64(1 << 28)


def _two_sum(a: NDArray[np.float64], b: NDArray[np.float64] | float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The rounded sum and its exact error (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _two_product(a: NDArray[np.float64], b: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The rounded product and its exact error (Dekker)."""
    product = a * b
    scaled = a * _SPLITTER
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    b_high = b * _SPLITTER - (b * _SPLITTER - b)
    b_low = b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def fused_single(x: NDArray[np.float32], width: float, low: float) -> NDArray[np.float32]:
    """``x * width + low`` in float32, rounded once. ``width`` and ``low`` are float32 values."""
    if low == 0.0:
        return x * np.float32(width)
    product = x * np.float64(width)  # 24 + 24 bits: exact in float64
    total = product + np.float64(low)
    # Rounding to float64 and then to float32 differs from one rounding only where the first lands on a tie.
    ties = (total.view(np.uint64) & _BELOW_FLOAT32) == _TIE
    if ties.any():
        rounded, error = _two_sum(product[ties], float(low))
        total[ties] = np.where(error == 0, rounded, np.nextafter(rounded, np.copysign(np.inf, error)))
    return total.astype(np.float32)


def fused_double(x: NDArray[np.float64], width: float, low: float) -> NDArray[np.float64]:
    """``x * width + low`` in float64, rounded once (Boldo and Melquiond, "Emulation of a FMA", 2008)."""
    if low == 0.0 or not abs(width) < 2.0**900:  # one rounding anyway, or where splitting would overflow
        return x * width + low
    product, tail = _two_product(x, width)
    middle, rest = _two_sum(tail, low)
    head, middle = _two_sum(product, middle)
    odd, error = _two_sum(rest, middle)
    # The small part is rounded to odd: an inexact result with an even last bit moves to its odd neighbour.
    even = (error != 0) & ((odd.view(np.uint64) & np.uint64(1)) == 0)
    odd[even] = np.nextafter(odd[even], np.copysign(np.inf, error[even]))
    return head + odd


def fused(x: NDArray, width: float, low: float) -> NDArray:
    """``x * width + low`` in the type of ``x``, float32 or float64, rounded once."""
    return (fused_double if x.dtype == np.float64 else fused_single)(x, width, low)


def narrow(values: NDArray, dtype: np.dtype) -> NDArray:
    """``values`` as ``dtype``; the 16-bit floating types are reached by way of float32, as in PyTorch."""
    if values.dtype == dtype:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype.kind in "fV" and dtype.itemsize == 2:
            values = values.astype(np.float32)
        return values.astype(dtype)
