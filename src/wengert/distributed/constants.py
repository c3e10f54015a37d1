"""``torch.distributed.constants``: how long operations may take."""

from __future__ import annotations

from .types import default_pg_timeout

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]

default_pg_nccl_timeout = None
