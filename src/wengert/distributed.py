"""``torch.distributed``, which says that it is not available, as in a build of PyTorch without it.

>>> import wengert as torch
>>> torch.distributed.is_available()
False
"""

from __future__ import annotations

from typing import Any

__all__ = ["is_available", "is_initialized"]


def is_available() -> bool:
    """Whether processes can be joined to groups: no."""
    return False


def is_initialized() -> bool:
    """Whether there is a process group: no."""
    return False


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"torch.distributed is not available here (is_available() says so), so there is no {name!r}: train in one process")
