"""``torch.distributed``: one program in several processes, joined by MPI.

``wengert torchrun --nproc-per-node 4 train.py`` or ``mpiexec -n 4 wengert run train.py`` starts the processes,
``init_process_group`` joins them, collectives move tensors between them. It needs the extra ``wengert[mpi]``: mpi4py,
and an MPI. Without it everything can be imported, and ``is_available()`` is false.

>>> torch.distributed.is_initialized(), torch.distributed.get_backend_config.__name__
(False, 'get_backend_config')
>>> isinstance(torch.ones(1), torch.distributed.tensor.DTensor)
False
"""

from __future__ import annotations

import os
from typing import Any

from . import collectives as _collectives
from . import groups as _groups
from . import objects as _objects
from . import types as _types
from .collectives import *  # noqa: F403
from .collectives import _all_gather_base, _coalescing_manager, _CoalescingManager, _reduce_scatter_base  # noqa: F401
from .device_mesh import DeviceMesh, init_device_mesh
from .errors import DistBackendError, DistError, DistNetworkError, DistStoreError, QueueEmptyError
from .group import ProcessGroup, ProcessGroupGloo
from .groups import *  # noqa: F403
from .mpi.world import available as is_available
from .objects import *  # noqa: F403
from .rendezvous import register_rendezvous_handler, rendezvous
from .stores import FileStore, HashStore, PrefixStore, Store
from .tcp_store import TCPStore
from .types import *  # noqa: F403
from .types import _make_nccl_premul_sum  # noqa: F401
from .work import Work

__all__ = [
    *_types.__all__, *_groups.__all__, *_collectives.__all__, *_objects.__all__,
    "DeviceMesh", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "FileStore", "HashStore",
    "PrefixStore", "ProcessGroup", "ProcessGroupGloo", "QueueEmptyError", "Store", "TCPStore", "Work",
    "get_node_local_rank", "init_device_mesh", "is_available", "is_backend_available", "is_gloo_available",
    "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available",
    "register_rendezvous_handler", "rendezvous",
]

# Classes and functions that programs name, and nothing is of their kind.
_NAMES = "Logger RankType breakpoint"

# Names from files that are loaded at their first use.
_LATER = {
    "BuiltinCommHookType": "buckets", "GradBucket": "buckets", "Reducer": "reducer",
    "_DEFAULT_FIRST_BUCKET_BYTES": "buckets", "_broadcast_coalesced": "buckets",
    "_compute_bucket_assignment_by_size": "buckets", "_get_process_group_name": "distributed_c10d",
    "_rank_not_in_group": "distributed_c10d",
}

is_gloo_available = is_mpi_available = is_available


def is_nccl_available() -> bool:
    """Whether there is NCCL: no, tensors are on the CPU."""
    return False


is_ucc_available = is_xccl_available = is_nccl_available


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_backend_available(backend: str) -> bool:
    """Whether processes can speak to each other by way of ``backend``: ``"gloo"`` and ``"mpi"`` mean MPI."""
    return backend.lower() in ("gloo", "mpi") and is_available()


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """What ``torchrun`` said: ``$LOCAL_RANK``, else ``fallback_rank``."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
            "`get_node_local_rank` to work, assuming you are not running in a multi-device context and want the code "
            "to run locally instead.")
    return int(fallback_rank)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    from ..names.absent import DISTRIBUTED, absent, absent_module
    from ..names.missing import AREAS

    if name in _LATER:
        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    if name in DISTRIBUTED or name in ("compression", "rpc"):
        from importlib.util import find_spec

        if find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        return absent_module(f"distributed.{name}")
    if name in _NAMES.split():
        return absent(f"torch.distributed.{name}", AREAS["distributed"])
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"torch.distributed has no {name!r} here")
