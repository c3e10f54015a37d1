"""``x * width + low``, rounded once: what NumPy has no operator for.

PyTorch's compiler contracts it into one fused operation. Rounding twice gives other bits in up to half of the values,
so it is reproduced here: exactly, but for subnormal results and widths above 2**900.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
