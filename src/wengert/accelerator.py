"""``accelerator``: the device that a program should prefer to the CPU. There is none here."""

from __future__ import annotations

from typing import Any

NONE = "Cannot access accelerator device when none is available."


def is_available() -> bool:
    """``False``."""
    return False


def device_count() -> int:
    """0."""
    return 0


def current_accelerator(check_available: bool = False) -> Any:
    """``None``."""
    return None


def _refuse(*args: Any, **kwargs: Any) -> Any:
    """Raise a ``RuntimeError``: there is no accelerator."""
    raise RuntimeError(NONE)


current_device_index = current_device_idx = set_device_index = set_device_idx = _refuse
current_stream = set_stream = synchronize = _refuse
