"""Uninitialized memory: as it is, or under deterministic algorithms filled with NaN, the largest integer or True."""

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
    """``a`` filled with NaN, the largest integer or True."""
    a[...] = True if a.dtype.kind == "b" else np.iinfo(a.dtype).max if a.dtype.kind in "ui" else np.nan
    return a
