"""Sparse arrays by rows and columns (``arrays.compressed.Compressed``): made of values, and opened to coordinates.

Everything else is done in coordinates, by the operators of ``ops.sparse``.
"""

from __future__ import annotations

from ..arrays.compressed import Compressed, pressed
from ..arrays.sparse import Coo, taken
from .operator import Array, family

operator, composite = family()


@operator(grad=dict(values=lambda F, g, pattern: F.sparse_taken(g, F.constant(pattern.indices))))
def compressed_made(values: Array, pattern):
    """The array with ``values``, one after the other, at the places of ``pattern``."""
    return pattern.with_values(values)


@composite
def compressed_back(F, g, pattern, masked):
    """A gradient in the layout of ``pattern``; a dense one stays as it is: elements that are not stored count as well.

    Unless ``masked``, elements that only the gradient has are stored too.
    """
    if not masked and isinstance(g if F.raw else g._wg_data, Coo):
        pattern = pressed(g if F.raw else g._wg_data, pattern.layout, pattern.block)
    if F.raw:
        return pattern.with_values(taken(g, pattern.indices)) if isinstance(g, (Coo, Compressed)) else g
    return (g if g.layout.name == "strided"
        else F.compressed_made(F.sparse_taken(g, F.constant(pattern.indices)), pattern))


@operator(grad=dict(input=lambda F, g, pattern, masked: F.compressed_back(g, pattern, masked)))
def compressed_opened(input: Array, pattern, masked=True):
    """The same array by coordinates; ``pattern``: itself, for its places; ``masked``: the gradient is only there."""
    return input.coo()  # type: ignore[attr-defined]  # a Compressed
