"""``torch.distributed.rpc``, which says that it is not available; calls to other processes are not here."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether functions can be called in other processes: no."""
    return False
