"""``DeviceContext``, and what is made of it."""

from __future__ import annotations

from typing import Any

from ..dispatch.default_device import DeviceContext, _device_constructors, device_decorator, set_device

__all__ = ["DeviceContext", "_device_constructors", "device_decorator", "set_device"]


def __getattr__(name: str) -> Any:
    if name == "CURRENT_DEVICE":
        from ..dispatch.default_device import _of_devices, modes, on_the_cpu

        inner = on_the_cpu() + _of_devices(modes().functions)
        return inner[-1].device if inner else None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
