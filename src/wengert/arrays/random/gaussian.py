"""Normal numbers, by the transform of Box and Muller (1958), in the two arrangements that PyTorch uses."""

from __future__ import annotations

from math import cos, log1p, pi, sin, sqrt
from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays.plain.draws import LANES  # arrays of at least this many elements are filled 16 at a time

from .stream import Stream, pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray


def fill(stream: Stream, out: NDArray, mean: float, std: float) -> None:
    """Fill a flat array of at least 16 floats of any width.

    Each run of 16 uses 16 uniforms. Where the length is no multiple of 16, the last 16 elements are made anew from 16
    further uniforms; the 32- and 64-bit types first pass over those that the leftover would have used.
    """
    if out.itemsize != 2:
        stream.normals(out, mean, std)
        return
    whole = out.size - out.size % LANES
    for start, stop in pieces(whole):
        out[start:stop] = stream.normals(np.empty(stop - start, np.float32), mean, std)
    if out.size > whole:
        out[-LANES:] = stream.normals(np.empty(LANES, np.float32), mean, std)


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
