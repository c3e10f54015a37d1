"""``torch.distributed.tensor``: tensors spread over a mesh of processes, with the interface of one tensor."""

from __future__ import annotations

from typing import Any

from ..device_mesh import DeviceMesh, init_device_mesh
from . import placement_types
from ._api import DTensor, distribute_module, distribute_tensor, empty, full, ones, rand, randn, zeros
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module",
    "distribute_tensor", "empty", "full", "init_device_mesh", "ones", "placement_types", "rand", "randn", "zeros"]


def __getattr__(name: str) -> Any:
    from ...names.absent import absent_name

    return absent_name(__name__, name)
