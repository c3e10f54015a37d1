"""``mtia``: Meta's accelerators, which are not used here."""

from __future__ import annotations

from typing import Any

from .cuda import _answer, _refusing
from .names.missing import missing_from

is_available = _answer(False, "Whether such a device can be used: ``False``.")
is_initialized = _answer(False, "Whether its state has been set up: ``False``.")
device_count = _answer(0, "The number of devices: 0.")
memory_allocated = _answer(0, "Bytes in use on a device: 0.")
max_memory_allocated = _answer(0, "The most bytes ever in use on a device: 0.")


def manual_seed(seed: int) -> None:
    """Does nothing: there is no generator to seed. ``seed`` must be an integer."""
    int(seed)


manual_seed_all = manual_seed


def memory_stats(device: Any = None) -> dict[str, Any]:
    """The counts of the allocator: none."""
    return {}


def _without(action: str) -> Any:
    return _refusing(f"Cannot execute {action}() without MTIA backend.", RuntimeError)


current_device = get_device_capability = synchronize = _without("getCurrentDevice")
set_device, empty_cache = _without("setCurrentDevice"), _without("emptyCache")

__getattr__ = missing_from(__name__)
