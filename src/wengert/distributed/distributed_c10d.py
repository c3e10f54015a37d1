"""PyTorch's ``torch.distributed.distributed_c10d``: the names of ``torch.distributed`` where it defines them."""

from __future__ import annotations

from typing import Any

from . import *  # noqa: F403
from .collectives import (  # noqa: F401
    _all_gather_base,
    _coalescing_manager,
    _CoalescingManager,
    _reduce_scatter_base,
)
from .groups import GroupMember, default_group, group_of, outside
from .objects import _object_to_tensor, _tensor_to_object  # noqa: F401


def _get_default_group() -> Any:
    return default_group()


def _get_default_store() -> Any:
    return default_group().get_group_store()


def _get_default_timeout(backend: Any = None) -> Any:
    from .types import default_pg_timeout

    return default_pg_timeout


def _set_pg_timeout(timeout: Any, group: Any = None) -> None:
    """How long operations of a group may take from now on."""
    group_of(group).set_timeout(timeout)


def _rank_not_in_group(group: Any) -> bool:
    return outside(group)


def _get_group_size(group: Any) -> int:
    return group_of(group).size()


def _get_process_group_name(group: Any) -> str:
    return group_of(group).group_name


def _resolve_process_group(name: str) -> Any:
    return group_of(name)


def _get_pg_default_device(group: Any = None) -> Any:
    from ..tensor.types import CPU

    return CPU


_get_object_coll_device = _get_pg_default_device


def __getattr__(name: str) -> Any:
    if name == "_world":
        return GroupMember
    from . import __getattr__ as get

    return get(name)
