"""Whether Intel's oneDNN is used: not here, NumPy's own libraries are."""

from __future__ import annotations

enabled = True


def is_available() -> bool:
    """``False``."""
    return False


def is_acl_available() -> bool:
    """``False``."""
    return False
