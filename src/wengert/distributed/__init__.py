"""``torch.distributed``, which says that it is not available, as in a build of PyTorch without it.

Libraries name its classes nevertheless: in annotations, or to ask whether a tensor is spread over processes. So its
names are here. Nothing is of their kind, and they refuse to be called.

>>> torch.distributed.is_available()
False
>>> isinstance(torch.ones(1), torch.distributed.tensor.DTensor)
False
"""

from __future__ import annotations

import os
from typing import Any

__all__ = [
    "is_available", "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available",
    "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available",
]

_NAMES = frozenset(("AllToAllOptions", "AllreduceCoalescedOptions", "AllreduceOptions", "Backend", "BackendConfig",
    "BarrierOptions", "BroadcastOptions", "BuiltinCommHookType", "DebugLevel", "DeviceMesh", "DistBackendError",
    "DistError", "DistNetworkError", "DistStoreError", "FileStore", "GatherOptions", "GradBucket", "GroupMember",
    "GroupName", "HashStore", "Logger", "P2POp", "PrefixStore", "ProcessGroup", "ProcessGroupGloo", "QueueEmptyError",
    "RankType", "ReduceOp", "ReduceOptions", "ReduceScatterOptions", "Reducer", "ScatterOptions", "Store", "TCPStore",
    "Work", "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_gather_single",
    "all_reduce", "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv",
    "breakpoint", "broadcast", "broadcast_object_list", "default_pg_timeout", "destroy_process_group", "gather",
    "gather_object", "get_backend", "get_backend_config", "get_debug_level", "get_default_backend_for_device",
    "get_global_rank", "get_group_rank", "get_node_local_rank", "get_pg_count", "get_process_group_ranks", "get_rank",
    "get_world_size", "group", "init_device_mesh", "init_process_group", "irecv", "isend", "monitored_barrier",
    "new_group", "new_subgroups", "new_subgroups_by_enumeration", "recv", "recv_object_list", "reduce", "reduce_op",
    "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "register_rendezvous_handler", "rendezvous",
    "scatter", "scatter_object_list", "send", "send_object_list", "set_debug_level", "set_debug_level_from_env",
    "shrink_group", "split_group", "supports_complex"))


def is_available() -> bool:
    """``False``: processes cannot be joined to groups, there is none, and no library for it."""
    return False


is_initialized = is_gloo_available = is_mpi_available = is_nccl_available = is_ucc_available = is_available
is_xccl_available = is_available


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_backend_available(backend: str) -> bool:
    """Whether processes can speak to each other by way of ``backend``: no."""
    return False


def __getattr__(name: str) -> Any:
    from ..names.absent import DISTRIBUTED, Absent, absent_module
    from ..names.missing import AREAS

    if name == "rpc":
        from importlib import import_module

        return import_module(f"{__name__}.rpc")
    if name in DISTRIBUTED:
        return absent_module(f"distributed.{name}")
    if name in _NAMES:
        return Absent(f"torch.distributed.{name}", AREAS["distributed"])
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"torch.distributed is not available here (is_available() says so), so there is no {name!r}: "
        "train in one process")
