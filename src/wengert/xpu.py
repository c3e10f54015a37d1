"""``xpu``: Intel's graphics processors, which are not used here."""

from __future__ import annotations


def is_available() -> bool:
    """``False``."""
    return False


def device_count() -> int:
    """0."""
    return 0


def empty_cache() -> None:
    """Does nothing: there is no cache."""


def manual_seed(seed: int) -> None:
    """Does nothing: there is no generator to seed. ``seed`` must be an integer."""
    int(seed)


manual_seed_all = manual_seed
