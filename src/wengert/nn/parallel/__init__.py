"""``torch.nn.parallel``: one module on several devices or in several processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .data_parallel import DataParallel, data_parallel
from .scatter_gather import gather, scatter

if TYPE_CHECKING:
    from .distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "scatter"]


def __getattr__(name: str) -> Any:
    if name == "DistributedDataParallel":  # at its first use, as few programs have more than one process
        from .distributed import DistributedDataParallel

        return DistributedDataParallel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
