"""``torch.distributed.rpc``: functions that run in other processes, by MPI, and references to what stays there.

Every process calls ``init_rpc`` with a name of its own, and ``shutdown`` at the end. See ``docs/rpc.md``.
"""

from __future__ import annotations

from typing import Any

from ...names.absent import absent_from
from ..mpi.world import available as is_available
from . import api, constants, functions, internal, options
from .api import (
    _get_current_rpc_agent,
    _is_current_rpc_agent_set,
    _set_rpc_timeout,
    _wait_all,
    get_rpc_timeout,
    get_worker_info,
    init_rpc,
    remote,
    rpc_async,
    rpc_sync,
    shutdown,
)
from .internal import RemoteException
from .options import BackendType, RpcBackendOptions, TensorPipeRpcBackendOptions, WorkerInfo
from .rref import RRef

__all__ = ["BackendType", "RRef", "RemoteException", "RpcBackendOptions", "TensorPipeRpcBackendOptions", "WorkerInfo",
    "_get_current_rpc_agent", "_is_current_rpc_agent_set", "_set_rpc_timeout", "_wait_all", "api", "constants",
    "functions", "get_rpc_timeout", "get_worker_info", "init_rpc", "internal", "is_available", "options", "remote",
    "rpc_async", "rpc_sync", "shutdown"]

PyRRef: Any = RRef
__getattr__ = absent_from(__name__)
