"""``torch.distributed.fsdp``: modules whose parameters are cut among the processes and brought together when needed."""

from __future__ import annotations

from ._fully_shard import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method, share_comm_ctx
from ._policies import CPUOffloadPolicy, DataParallelMeshDims, MixedPrecisionPolicy, OffloadPolicy

__all__ = ["CPUOffloadPolicy", "DataParallelMeshDims", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy",
    "UnshardHandle", "fully_shard", "register_fsdp_forward_method", "share_comm_ctx"]
