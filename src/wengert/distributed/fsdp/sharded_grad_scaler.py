"""``ShardedGradScaler``."""

from __future__ import annotations

from typing import Any

from ...amp import GradScaler


class ShardedGradScaler(GradScaler):
    """A ``GradScaler`` whose processes agree about infinite gradients: their DTensors make them.

    >>> from wengert.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
    >>> ShardedGradScaler(enabled=False).is_enabled()
    False
    """

    def __init__(self, device: str = "cpu", *args: Any, process_group: Any = None, **kwargs: Any) -> None:
        super().__init__(device, *args, **kwargs)
