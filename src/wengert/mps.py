"""``mps``: Apple's graphics processors, which are not used here."""

from __future__ import annotations

from typing import Any


def device_count() -> int:
    """0."""
    return 0


def is_available() -> bool:
    """False."""
    return False


def manual_seed(seed: int) -> None:
    """Does nothing: there is no generator to seed. ``seed`` must be an integer."""
    int(seed)


def seed() -> None:
    """Does nothing: there is no generator to seed."""


def _refusing(action: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"Cannot execute {action}() without MPS backend.")

    refuse.__doc__ = "Raise a ``RuntimeError``: there is no such device."
    return refuse


recommended_max_memory = _refusing("getRecommendedMaxMemory")
get_rng_state = set_rng_state = _refusing("getDefaultGenerator")
set_per_process_memory_fraction = _refusing("setMemoryFraction")
synchronize, empty_cache = _refusing("deviceSynchronize"), _refusing("emptyCache")
current_allocated_memory = _refusing("currentAllocatedMemory")
driver_allocated_memory = _refusing("driverAllocatedMemory")
