"""Integers in a range, for every type, and permutations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import warn
from .kinds import narrow
from .stream import Stream, pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .kinds import Kind

WIDE = 1 << 28  # ranges from this size on take 64 bits a number, which makes the bias of the remainder negligible
MANY = 0xFFFFFFFF // 20  # permutations from this length on are drawn in another way
LOWEST = -(1 << 63)


def _filled(stream: Stream, count: int, kind: Kind, wide: bool, size: int, base: int) -> NDArray:
    """``base + draw() % size`` for ``count`` numbers, wrapping at 64 bits, in the requested dtype."""
    out = np.empty(count, kind.dtype)
    if kind.dtype == np.int64:
        return stream.integers(out, size, base, wide)
    for start, stop in pieces(count):
        values = stream.integers(np.empty(stop - start, np.int64), size, base, wide)
        signed = values.view(np.uint64) if kind.name == "uint64" else values
        out[start:stop] = narrow(signed, kind.dtype) if kind.half else signed
    return out


def full(stream: Stream, count: int, kind: Kind) -> NDArray:
    """Numbers over the whole non-negative range of a type (up to 2**digits for floating types)."""
    if kind.part or kind.name in ("uint16", "uint32", "uint64") or kind.name.startswith("float8"):
        raise NotImplementedError(f"\"random_kernel_cpu\" not implemented for '{kind.title}'")
    size = (1 << kind.digits if kind.floating else int(kind.greatest)) + 1
    return _filled(stream, count, kind, kind.dtype.itemsize == 8, size, 0)


def between(stream: Stream, count: int, kind: Kind, low: int, high: int | None) -> NDArray:
    """Numbers in ``[low, high)``, or from ``low`` to the type's greatest where ``high`` is None."""
    if high is not None and low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if high is None and low == LOWEST:
        # 64 random bits cannot be cast to the other types
        if kind.part or kind.name in ("bool", "uint16", "uint32", "uint64", "float16"):
            raise NotImplementedError(f"\"random_full_64_bits_range_kernel_cpu\" not implemented for '{kind.title}'")
        if kind.name not in ("int64", "float64", "float32", "bfloat16"):
            raise RuntimeError("random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16")
        return _filled(stream, count, kind, True, 1 << 64, 0)
    if kind.part:
        caller = "random_from_to_impl" if high is None else "check_random_bounds"
        raise RuntimeError(f"{caller} handles only integral, floating-point and boolean types")
    if high is not None:
        last = high - 1
    else:  # the greatest, in 64 signed bits: uint64's is then -1, and refused
        last = 1 << kind.digits if kind.floating else (int(kind.greatest) - LOWEST) % (1 << 64) + LOWEST
    for value, what in ((low, "from"), (last, "to - 1")):
        if not kind.least <= value <= kind.greatest:
            raise RuntimeError(f"{what} is out of bounds for {kind.c_name}")
    if kind.floating:
        asked = low, last
        low = _representable_low(low, kind)
        if high is None:
            relation, end, valid = "or equal to 'to_inc'", f"> to_inc={last}", low < last
        else:
            last = _representable_high(high, kind) - 1
            relation, end, valid = "'to'", f">= to={last + 1}", low <= last
        if not valid:
            raise RuntimeError(f"random_ expects 'from' casted to dtype to be less than {relation} casted to dtype, "
                f"but got from={low} {end}")
        _warn_beyond(kind, *asked)
    size = last - low + 1
    return _filled(stream, count, kind, size >= WIDE, size, low)


def _warn_beyond(kind: Kind, low: int, last: int) -> None:
    for value, what in ((low, "from"), (last, "to - 1")):
        if abs(value) > 1 << kind.digits:
            warn(f"{what} is out of bounds [-(2^{kind.digits}), 2^{kind.digits}]. Due to precision limitations "
                f"{kind.c_name} can support discrete uniform distribution only within this range. This warning will "
                "become an error in version 1.7 release, please fix the code in advance")


def _as_held(value: int, kind: Kind) -> int:
    """The integer that a floating type makes of ``value``; past 64 bits, the processor gives the lowest there is."""
    single = np.float32(value)
    held = int(single.astype(kind.dtype).astype(np.float32) if kind.half else kind.dtype.type(value))
    return held if LOWEST <= held < -LOWEST else LOWEST


def _representable_low(low: int, kind: Kind) -> int:
    """``low``, moved up where the type would round ``low + 1`` below it."""
    held = _as_held(low + 1, kind)
    return held + (1 << max(abs(low + 1).bit_length() - kind.digits, 0)) if held < low else low


def _representable_high(high: int, kind: Kind) -> int:
    """``high``, moved down where the type would round ``high - 1`` up to it."""
    held = _as_held(high - 1, kind)
    return held - (1 << max(abs(high - 1).bit_length() - kind.digits, 0)) if held >= high else high


def permutation(stream: Stream, count: int) -> NDArray[np.int64]:
    """The numbers below ``count`` in a random order.

    Where 32 bits would favour some places (from 2**32 / 20 on), 64 are drawn.
    """
    return stream.permuted(np.empty(count, np.int64), count >= MANY)
