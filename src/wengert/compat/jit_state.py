"""``torch.jit._state``: whether scripted functions are compiled, which they never are. brevitas asks."""

from __future__ import annotations


class EnabledProxy:
    """False, whatever ``enable`` and ``disable`` say: what is scripted runs as the Python that it is."""

    enabled = False

    def __bool__(self) -> bool:
        return self.enabled


_enabled = EnabledProxy()


def enable() -> None:
    """Nothing."""


def disable() -> None:
    """Nothing."""
