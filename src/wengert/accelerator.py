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
memory_stats = memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = get_memory_info = _refuse
reset_peak_memory_stats = reset_accumulated_memory_stats = empty_cache = empty_host_cache = get_device_capability = _refuse
