"""``torch.distributed``, which says that it is not available, as in a build of PyTorch without it.

Libraries name its classes nevertheless: in annotations, or to ask whether a tensor is spread over processes. So its
names are here. Nothing is of their kind, and they refuse to be called. What needs a group of processes is refused in
PyTorch's words for a program that has joined none.

>>> torch.distributed.is_available()
False
>>> isinstance(torch.ones(1), torch.distributed.tensor.DTensor)
False
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

__all__ = [
    "is_available", "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available",
    "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available",
]

default_pg_timeout = timedelta(minutes=30)

# Classes and functions that programs name, and nothing is of their kind.
_NAMES = (
    "AllToAllOptions AllreduceCoalescedOptions AllreduceOptions Backend BackendConfig BarrierOptions "
    "BroadcastOptions BuiltinCommHookType DebugLevel DeviceMesh DistBackendError DistError DistNetworkError "
    "DistStoreError FileStore GatherOptions GradBucket GroupName HashStore Logger P2POp PrefixStore ProcessGroup "
    "ProcessGroupGloo QueueEmptyError RankType ReduceOp ReduceOptions ReduceScatterOptions Reducer ScatterOptions "
    "Store TCPStore Work batch_isend_irecv breakpoint get_debug_level get_default_backend_for_device "
    "get_global_rank get_group_rank init_device_mesh init_process_group reduce_op register_rendezvous_handler "
    "rendezvous set_debug_level set_debug_level_from_env shrink_group split_group supports_complex"
)
# Functions that need a group of processes.
_OF_A_GROUP = (
    "all_gather all_gather_coalesced all_gather_into_tensor all_gather_object all_gather_single all_reduce "
    "all_reduce_coalesced all_to_all all_to_all_single barrier broadcast broadcast_object_list gather "
    "gather_object get_backend get_backend_config get_process_group_ranks get_rank get_world_size irecv isend "
    "monitored_barrier new_group new_subgroups new_subgroups_by_enumeration recv recv_object_list reduce "
    "reduce_scatter reduce_scatter_single reduce_scatter_tensor scatter scatter_object_list send send_object_list"
)


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


class GroupMember:
    """The groups that there are: none."""

    WORLD = None
    NON_GROUP_MEMBER = -100


group = GroupMember


def get_pg_count() -> int:
    """The number of groups: 0."""
    return 0


def destroy_process_group(group: Any = None) -> None:
    """Raise the ``AssertionError`` of a program that is in no group."""
    raise AssertionError("Process group cannot be None")


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """What ``torchrun`` said: ``$LOCAL_RANK``, else ``fallback_rank``."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
            "`get_node_local_rank` to work, assuming you are not running in a multi-device context and want the code "
            "to run locally instead.")
    return int(fallback_rank)


def _of_a_group(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raise ``ValueError``: there is no group of processes."
    return refuse


globals().update({name: _of_a_group(name) for name in _OF_A_GROUP.split()})


def __getattr__(name: str) -> Any:
    from ..names.absent import DISTRIBUTED, absent, absent_module
    from ..names.missing import AREAS

    if name == "rpc":
        from importlib import import_module

        return import_module(f"{__name__}.rpc")
    if name in DISTRIBUTED:
        return absent_module(f"distributed.{name}")
    if name in _NAMES.split():
        return absent(f"torch.distributed.{name}", AREAS["distributed"])
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"torch.distributed is not available here (is_available() says so), so there is no {name!r}: "
        "train in one process")
