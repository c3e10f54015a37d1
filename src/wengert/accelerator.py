"""``accelerator``: the device that a program should prefer to the CPU. There is none here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .tensor.types import device as device_class

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
memory_stats = memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = _refuse
reset_peak_memory_stats = reset_accumulated_memory_stats = empty_cache = empty_host_cache = _refuse
get_memory_info = get_device_capability = _refuse


def get_device_module(device: Any = None) -> Any:
    """The module of a kind of devices, ``torch.cpu`` without one.

    >>> torch.get_device_module("cpu") is torch.cpu
    True
    """
    if device is not None and not isinstance(device, (str, device_class)):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    kind = device_class("cpu" if device is None else device).type
    try:
        return import_module(f".{kind}", __package__)
    except ModuleNotFoundError:
        raise RuntimeError(f"Device '{device}' does not have a corresponding module registered as "
            f"'torch.{kind}'.") from None
