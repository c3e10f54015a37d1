"""Scattered addition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wengert.arrays.plain.widen import Array


def add_at(out: Array, index: Array, values: Array) -> Array:
    """Add rows of ``values`` to the rows of ``out`` that ``index`` names, repeated ones too, and return ``out``.

    ``out`` is ``(R, *row)``, ``index`` integers of any shape in ``[-R, R)``, ``values`` is ``(*index.shape, *row)``.
    """
    index, values = index.reshape(-1), values.reshape(index.size, *out.shape[1:])
    if index.size == 0:
        return out
    if index.min() < -len(out) or index.max() >= len(out):
        raise IndexError("index out of range in self")
    if out.ndim == 1:
        np.add.at(out, index, values)
        return out
    # One addition for each distinct row beats np.add.at on rows: sort, sum the runs, add the sums.
    index = np.where(index < 0, index + len(out), index)
    order = np.argsort(index, kind="stable")
    index = index[order]
    starts = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1])))
    out[index[starts]] += np.add.reduceat(values[order], starts, axis=0)
    return out
