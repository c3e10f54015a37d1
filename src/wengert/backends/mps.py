"""Whether Apple's graphics processors can be used."""

from __future__ import annotations


def is_built() -> bool:
    """``False``."""
    return False


def is_available() -> bool:
    """``False``."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """``False``: only asked before using such a device."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """``False``: only asked before using such a device."""
    return False
