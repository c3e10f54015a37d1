"""Uniform and normal numbers and random booleans, made of the words of a bit generator of NumPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.arrays.array_likes import new_filled
from wengert.arrays.plain.roundings import fused

if TYPE_CHECKING:
    from wengert.arrays.plain.widen import Array

LANES = 16
_EIGHT = {4: np.dtype("V32"), 8: np.dtype("V64")}  # eight floats moved as one item: much cheaper to copy


def fill_uniform(bits: Any, out: Array) -> Array:
    """Fill with uniforms in [0, 1): float32 of 24 bits of a word, float64 of 53 bits of two; int64: those 53 bits."""
    if out.dtype == np.float32:
        words = bits.random_raw(out.size)
        words &= np.uint64(0xFFFFFF)
        out.reshape(-1)[...] = words.view(np.int64)
        out *= np.float32(2.0**-24)
        return out
    words = bits.random_raw(2 * out.size)
    high = words[0::2] & np.uint64((1 << 21) - 1)
    high <<= np.uint64(32)
    high |= words[1::2]
    out.reshape(-1)[...] = high.view(np.int64)
    if out.dtype != np.int64:
        out *= 2.0**-53
    return out


def fill_below(bits: Any, out: Array, bound: int) -> Array:
    """Fill with whether each of the next numbers of 53 bits (two words, as for float64) is below ``bound``."""
    return np.less(fill_uniform(bits, np.empty(out.size, np.int64)), bound, out=out.reshape(-1)).reshape(out.shape)


def fill_between(bits: Any, out: Array, low: float, width: float) -> Array:
    """Fill with uniforms in [0, 1) times ``width`` plus ``low``, rounded once; both are numbers of the type."""
    out[...] = fused(fill_uniform(bits, np.empty(out.shape, out.dtype)), width, low)
    return out


def fill_pairs(bits: Any, out: Array, spare: float | None) -> float | None:
    """Fill a flat array of float64 with standard normals, made in pairs (Box and Muller, 1958): of two uniforms the
    first gives the angle. ``spare`` is the first number, unless it is None; the one that is left over is returned.
    """
    filled = 0
    if out.size and spare is not None:
        out[0], spare, filled = spare, None, 1
    for start in range(filled, out.size, 1 << 15):
        size = min(1 << 15, out.size - start)
        uniforms = fill_uniform(bits, np.empty(size + size % 2))
        radius, angle = np.sqrt(-2.0 * np.log1p(-uniforms[1::2])), (2.0 * np.pi) * uniforms[0::2]
        normals = np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1).reshape(-1)
        out[start : start + size] = normals[:size]
        spare = float(normals[-1]) if size % 2 else None
    return spare


def _sixteens(uniforms: Array, mean: float, std: float) -> Array:
    """Turn each run of 16 uniforms into 16 normals: the first 8 give the radius, the last 8 the angle."""
    kind = uniforms.dtype.type
    eight = _EIGHT[uniforms.itemsize]
    halves = new_filled(uniforms, np.empty, (2, uniforms.size // 2), uniforms.dtype)
    halves.view(eight)[...] = uniforms.view(eight).reshape(-1, 2).T
    radius, angle = halves
    np.subtract(1, radius, out=radius)  # into (0, 1], for the logarithm
    np.log(radius, out=radius)
    radius *= kind(-2)
    np.sqrt(radius, out=radius)
    angle *= kind(2 * np.pi)
    normals = np.empty_like(halves)
    np.cos(angle, out=normals[0])
    np.sin(angle, out=normals[1])
    normals *= radius
    if mean != 0.0 or std != 1.0:
        normals = (normals.astype(np.float64) * float(kind(std)) + float(kind(mean))).astype(uniforms.dtype)
    uniforms.view(eight).reshape(-1, 2)[...] = normals.view(eight).T
    return uniforms


def fill_normal(bits: Any, out: Array, mean: float, std: float) -> Array:
    """Fill a flat array of at least 16 floats of 32 or 64 bits.

    Each run of 16 uses 16 uniforms. Where the length is no multiple of 16, uniforms for the leftover are passed over,
    and the last 16 elements are made anew from 16 further ones.
    """
    whole = out.size - out.size % LANES
    for start in range(0, whole, 1 << 14):
        piece = out[start : min(start + (1 << 14), whole)]
        _sixteens(fill_uniform(bits, piece), mean, std)
    if out.size > whole:
        fill_uniform(bits, out[whole:])
        _sixteens(fill_uniform(bits, out[-LANES:]), mean, std)
    return out


def fill_integers(bits: Any, out: Array, size: int, base: int, wide: bool) -> Array:
    """Fill a flat array of int64 with ``base`` plus remainders by ``size`` (0: of all 64 bits), which wrap: of words of
    32 bits, or of 64, of which the high one comes first (``wide``).
    """
    for start in range(0, out.size, 1 << 15):
        part = out[start : start + (1 << 15)]
        words = bits.random_raw(part.size * (1 + wide))
        if wide:
            high = words[0::2] << np.uint64(32)
            high |= words[1::2]
            words = high
        if size and size & (size - 1) == 0:
            words &= np.uint64(size - 1)
        elif size:  # NumPy divides by a scalar several times faster than it finds remainders
            words -= (words // np.uint64(size)) * np.uint64(size)
        words += np.uint64(base)
        part[...] = words.view(np.int64)
    return out


def fill_permutation(bits: Any, out: Array, wide: bool) -> Array:
    """Fill a flat array of int64 with the numbers below its length in a random order, by the exchanges of Fisher and
    Yates.

    Place ``i`` is exchanged with a place at or after it, for each ``i`` in turn. ``wide``: 64 bits are drawn for each,
    and the places are those at or before ``i``.
    """
    count = out.size
    if wide and count:
        words = bits.random_raw(2 * count)
        earlier = words[0::2] << np.uint64(32)
        earlier |= words[1::2]
        earlier %= np.arange(1, count + 1, dtype=np.uint64)
        out[...] = _exchanged_backwards(earlier.view(np.int64))
    elif count < 2:
        out[...] = np.arange(count)
    else:
        draws = bits.random_raw(count - 1)
        draws %= np.arange(count, 1, -1, dtype=np.uint64)
        partner = draws.view(np.int64)
        partner += np.arange(count - 1)
        out[...] = _exchanged(np.append(partner, count - 1))
    return out


def _exchanged_backwards(partner: Array) -> Array:
    """The outcome of all exchanges ``i <-> partner[i]`` where ``partner[i] <= i``.

    Undoing them, last first, gives the inverse permutation; counted from the other end, that is :func:`_exchanged`.
    """
    last = partner.size - 1
    inverse = last - _exchanged(last - partner[::-1])[::-1]
    order = np.empty_like(inverse)
    order[inverse] = np.arange(partner.size)
    return order


def _exchanged(partner: Array) -> Array:
    """The outcome of all exchanges ``i <-> partner[i]`` (``partner[i] >= i``), without making them one by one.

    What exchange ``i`` takes from place ``p = partner[i]`` is what the latest earlier exchange with that place put
    there, which is what its own place held before; so the exchanges form chains, which are followed all at once.
    """
    count = partner.size
    index = np.arange(count)
    # Sorted by place, then by time: the neighbours in this order are consecutive exchanges with one place.
    both = np.sort((partner.astype(np.uint64) << np.uint64(32)) | index.astype(np.uint64))
    time = (both & np.uint64(0xFFFFFFFF)).view(np.int64)
    place = (both >> np.uint64(32)).view(np.int64)
    same = place[1:] == place[:-1]
    earlier = np.full(count, -1)
    earlier[time[1:][same]] = time[:-1][same]  # the exchange before i with the same partner, if any
    ends = np.flatnonzero(np.append(~same, True))
    latest = np.full(count, -1)
    latest[place[ends]] = time[ends]  # the last exchange with each place
    source = np.where(latest == index, earlier, latest)  # ... before the place's own turn
    first = np.where(source < 0, index, source)
    while True:  # to the start of each chain, in doubling steps
        further = first[first]
        if np.array_equal(further, first):
            break
        first = further
    return np.where(earlier < 0, partner, first[earlier])
