"""``accelerator``: the device that a program should prefer to the CPU: CUDA, where there is one."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .functions.devices import available
from .tensor.types import device as device_class

if TYPE_CHECKING:
    from collections.abc import Callable

NONE = "Cannot access accelerator device when none is available."


def is_available() -> bool:
    """Whether there is an accelerator that tensors can be on."""
    return available("cuda")


def device_count() -> int:
    """The number of accelerators."""
    return import_module(".cuda", __package__).device_count() if is_available() else 0  # type: ignore[no-any-return]


def current_accelerator(check_available: bool = False) -> Any:
    """The kind of the accelerator, a device without a number; None without one."""
    return device_class("cuda") if is_available() else None


def _of_cuda(name: str) -> Callable[..., Any]:
    """The function of ``torch.cuda``; ``RuntimeError`` without an accelerator."""

    def function(*args: Any, **kwargs: Any) -> Any:
        if not is_available():
            raise RuntimeError(NONE)
        return getattr(import_module(".cuda", __package__), name)(*args, **kwargs)

    function.__name__, function.__doc__ = name, f"``torch.cuda.{name}``; ``RuntimeError`` without an accelerator."
    return function


current_device_index = current_device_idx = _of_cuda("current_device")
set_device_index = set_device_idx = _of_cuda("set_device")
current_stream, set_stream, synchronize = map(_of_cuda, ("current_stream", "set_stream", "synchronize"))
memory_stats, memory_allocated, memory_reserved = map(_of_cuda, ("memory_stats", "memory_allocated", "memory_reserved"))
max_memory_allocated, max_memory_reserved = map(_of_cuda, ("max_memory_allocated", "max_memory_reserved"))
reset_peak_memory_stats, reset_accumulated_memory_stats, empty_cache, get_device_capability = map(_of_cuda,
    ("reset_peak_memory_stats", "reset_accumulated_memory_stats", "empty_cache", "get_device_capability"))
empty_host_cache, get_memory_info = _of_cuda("empty_cache"), _of_cuda("mem_get_info")


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
