"""Normal numbers, by the transform of Box and Muller (1958), in the two arrangements that PyTorch uses."""

from __future__ import annotations

from math import cos, log1p, pi, sin, sqrt
from typing import TYPE_CHECKING

import numpy as np

from .rounding import fused
from .stream import Stream, pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray

LANES = 16
"""Contiguous arrays of at least this many elements are filled 16 at a time."""

_EIGHT = {4: np.dtype("V32"), 8: np.dtype("V64")}  # eight floats moved as one item: much cheaper to copy


def _sixteens(uniforms: NDArray, mean: float, std: float) -> NDArray:
    """Turn each run of 16 uniforms into 16 normals: the first 8 give the radius, the last 8 the angle."""
    kind = uniforms.dtype.type
    eight = _EIGHT[uniforms.itemsize]
    halves = np.empty((2, uniforms.size // 2), uniforms.dtype)
    halves.view(eight)[...] = uniforms.view(eight).reshape(-1, 2).T
    radius, angle = halves
    np.subtract(1, radius, out=radius)  # into (0, 1], for the logarithm
    np.log(radius, out=radius)
    radius *= kind(-2)
    np.sqrt(radius, out=radius)
    angle *= kind(2 * pi)
    normals = np.empty_like(halves)
    np.cos(angle, out=normals[0])
    np.sin(angle, out=normals[1])
    normals *= radius
    if mean != 0.0 or std != 1.0:
        normals = fused(normals, float(kind(std)), float(kind(mean)))
    uniforms.view(eight).reshape(-1, 2)[...] = normals.view(eight).T
    return uniforms


def fill(stream: Stream, out: NDArray, mean: float, std: float) -> None:
    """Fill a flat array of at least 16 floats of any width.

    Each run of 16 uses 16 uniforms. Where the length is no multiple of 16, the last 16 elements are made anew from 16
    further uniforms; the 32- and 64-bit types first pass over those that the leftover would have used.
    """
    draw = stream.doubles if out.itemsize == 8 else stream.singles
    whole = out.size - out.size % LANES
    for start, stop in pieces(whole):
        out[start:stop] = _sixteens(draw(stop - start), mean, std)
    if out.size > whole:
        if out.itemsize != 2:
            draw(out.size - whole)
        out[-LANES:] = _sixteens(draw(LANES), mean, std)


def pair(radial: float, angular: float) -> tuple[float, float]:
    """Two independent standard normals from two uniforms."""
    radius = sqrt(-2.0 * log1p(-radial))
    angle = 2.0 * pi * angular
    return radius * cos(angle), radius * sin(angle)


def serial(stream: Stream, count: int) -> NDArray[np.float64]:
    """The next ``count`` standard normals, made two at a time; the unused one of the last pair waits in the stream."""
    normals = np.empty(count, np.float64)
    filled = 0
    if count and stream.spare is not None:
        normals[0], stream.spare, filled = stream.spare, None, 1
    missing = count - filled
    for start, stop in pieces(missing):
        size = stop - start
        uniforms = stream.doubles(size + size % 2)
        normals[filled + start : filled + stop] = _pairs(uniforms)[:size]
        if size % 2:
            stream.spare = pair(uniforms[-1], uniforms[-2])[1]
    return normals


def _pairs(uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
    """:func:`pair` for an array of consecutive uniforms: an angle, a radius, an angle ..."""
    if uniforms.size <= LANES:
        by_two = uniforms.reshape(-1, 2).tolist()
        return np.array([pair(radial, angular) for angular, radial in by_two]).ravel()
    radius = np.sqrt(-2.0 * np.log1p(-uniforms[1::2]))
    angle = (2.0 * pi) * uniforms[0::2]
    normals = np.empty(uniforms.size, np.float64)
    np.multiply(radius, np.cos(angle), out=normals[0::2])
    np.multiply(radius, np.sin(angle), out=normals[1::2])
    return normals
