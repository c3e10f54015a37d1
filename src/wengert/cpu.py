"""``cpu``: the one device that is always there, with the interface that other devices have."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """``True``."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def synchronize(device: Any = None) -> None:
    """Does nothing: an operation has finished when it returns."""
