"""``torch.distributed.tensor.debug``: what DTensors make the processes say to each other."""

from __future__ import annotations

from ._comm_mode import CommDebugMode

__all__ = ["CommDebugMode"]
