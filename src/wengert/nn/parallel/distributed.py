"""Replicas in several processes: refused without a process group, of which there is none here."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """What a process group would keep alike. Raises PyTorch's ``ValueError`` where no group has been initialized."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group. "
            "torch.distributed.is_available() is False here: train in one process, with the module as it is.")
