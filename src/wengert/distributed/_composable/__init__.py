"""``torch.distributed._composable``: what is done to a module that stays itself."""

from __future__ import annotations

from ..fsdp import fully_shard
from .replicate import replicate

__all__ = ["fully_shard", "replicate"]
