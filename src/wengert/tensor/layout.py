"""Strides that users can observe."""

from __future__ import annotations

import numpy as np


def is_channels_last(a: np.ndarray) -> bool:
    """Whether a 4-d (or 5-d) array lies in memory with its channels innermost."""
    if a.ndim not in (4, 5):
        return False
    return np.moveaxis(a, 1, -1).flags.c_contiguous
