"""Who takes part in remote calls, and how they are set up."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from .constants import DEFAULT_INIT_METHOD, DEFAULT_NUM_WORKER_THREADS, DEFAULT_RPC_TIMEOUT_SEC

__all__ = ["BackendType", "RpcBackendOptions", "TensorPipeRpcBackendOptions", "WorkerInfo"]


class BackendType(Enum):
    """The ways that calls take. There is one, MPI, whatever it is called."""

    TENSORPIPE = "TENSORPIPE"


class WorkerInfo(NamedTuple):
    """A process that can be called: its name and its number."""

    name: str
    id: int

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, name={self.name})"


class RpcBackendOptions:
    """``rpc_timeout``: the seconds that a call may take (0: any); ``init_method``: where processes find each other."""

    def __init__(self, rpc_timeout: float = DEFAULT_RPC_TIMEOUT_SEC, init_method: str = DEFAULT_INIT_METHOD,
            num_worker_threads: int = DEFAULT_NUM_WORKER_THREADS) -> None:
        self.rpc_timeout, self.init_method, self.num_worker_threads = rpc_timeout, init_method, num_worker_threads


class TensorPipeRpcBackendOptions(RpcBackendOptions):
    """The same, with ``num_worker_threads``: how many calls of others run here at once. Devices have no meaning."""

    def __init__(self, *, num_worker_threads: int = DEFAULT_NUM_WORKER_THREADS,
            rpc_timeout: float = DEFAULT_RPC_TIMEOUT_SEC, init_method: str = DEFAULT_INIT_METHOD,
            device_maps: dict[str, dict[Any, Any]] | None = None, devices: list[Any] | None = None,
            _transports: list[str] | None = None, _channels: list[str] | None = None) -> None:
        super().__init__(rpc_timeout, init_method, num_worker_threads)
        self.device_maps, self.devices = device_maps or {}, devices or []

    def set_device_map(self, to: str, device_map: dict[Any, Any]) -> None:
        """Note on which devices tensors arrive at ``to``; all are on the CPU."""
        self.device_maps.setdefault(to, {}).update(device_map)

    def set_devices(self, devices: list[Any]) -> None:
        """Note the devices that are used."""
        self.devices = list(devices)
