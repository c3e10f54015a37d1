"""Whether OpenMP is used: not here, NumPy's own libraries are."""

from __future__ import annotations


def is_available() -> bool:
    """``False``."""
    return False
