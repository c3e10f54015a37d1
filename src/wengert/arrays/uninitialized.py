"""Memory that nobody has written yet: as it comes, or under deterministic algorithms filled with what stands out."""

from __future__ import annotations

from typing import Any

import numpy as np

settings = {"deterministic": False, "fill_uninitialized_memory": True}
fills = False  # both


def configure(**news: bool) -> None:
    """Take note of ``use_deterministic_algorithms`` or of ``utils.deterministic.fill_uninitialized_memory``."""
    global fills
    settings.update(news)
    fills = all(settings.values())


def empty(shape: Any, dtype: Any = float) -> np.ndarray:
    """``np.empty``; where memory is filled: NaN, the largest whole number, True."""
    return filled(np.empty(shape, dtype)) if fills else np.empty(shape, dtype)


def filled(a: np.ndarray) -> np.ndarray:
    """``a`` with what stands out in its type in every element."""
    a[...] = True if a.dtype.kind == "b" else np.iinfo(a.dtype).max if a.dtype.kind in "ui" else np.nan
    return a
