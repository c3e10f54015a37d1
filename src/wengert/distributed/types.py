"""What collectives are told: reductions, backends, options."""

from __future__ import annotations

import enum
import os
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, ClassVar

__all__ = [
    "AllToAllOptions", "AllreduceCoalescedOptions", "AllreduceOptions", "Backend", "BackendConfig", "BarrierOptions",
    "BroadcastOptions", "DebugLevel", "GatherOptions", "GroupName", "ReduceOp", "ReduceOptions",
    "ReduceScatterOptions", "ScatterOptions", "default_pg_timeout", "get_debug_level", "reduce_op", "set_debug_level",
    "set_debug_level_from_env",
]

default_pg_timeout = timedelta(minutes=30)
GroupName = str


class RedOpType(enum.IntEnum):
    """The kinds of reductions."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"


class ReduceOp:
    """How the values of several processes become one: ``SUM``, ``AVG``, ``PRODUCT``, ``MIN``, ``MAX``, ``BAND``,
    ``BOR``, ``BXOR``, ``PREMUL_SUM`` (a sum of values that are multiplied by a factor before).

    >>> torch.distributed.ReduceOp.SUM
    <RedOpType.SUM: 0>
    """

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX
    BAND, BOR, BXOR, PREMUL_SUM = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM
    __members__: ClassVar[dict[str, Any]] = dict(RedOpType.__members__)

    def __init__(self, op: Any, factor: Any = None):
        self.op: Any = op.op if isinstance(op, ReduceOp) else op
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        return self.op == (other.op if isinstance(other, ReduceOp) else other)

    def __hash__(self) -> int:
        return hash(self.op)

    def __int__(self) -> int:
        return int(self.op)

    def __repr__(self) -> str:
        return repr(self.op)

    @property
    def name(self) -> str:
        """The name of the kind."""
        return str(self.op.name)


class _Reductions(SimpleNamespace):
    """The deprecated ``reduce_op``."""


reduce_op = _Reductions(**RedOpType.__members__)


def _make_nccl_premul_sum(factor: Any) -> ReduceOp:
    return ReduceOp(RedOpType.PREMUL_SUM, factor)


class Backend(str):
    """The name of a backend, in small letters. ``"gloo"`` and ``"mpi"`` are MPI here; ``"nccl"`` needs GPUs."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list: ClassVar[list[str]] = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}

    def __new__(cls, name: str) -> str:  # type: ignore[misc]
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())

    @classmethod
    def register_backend(cls, name: str, func: Any, extended_api: bool = False, devices: Any = None) -> None:
        """Refuse: tensors travel by MPI."""
        raise NotImplementedError(f"the backend {name!r} cannot be added: tensors travel by MPI here")


class BackendConfig:
    """Which backend serves which device: ``"gloo"`` or ``"cpu:gloo,cuda:nccl"``.

    >>> torch.distributed.BackendConfig("gloo")
    cpu:gloo,cuda:gloo
    """

    def __init__(self, backend: str):
        if ":" in backend:
            self.device_backend_map = dict(part.strip().split(":") for part in backend.lower().split(","))
        else:
            self.device_backend_map = dict.fromkeys(("cpu", "cuda"), Backend(backend))

    def get_device_backend_map(self) -> dict[str, str]:
        """The backends by devices."""
        return self.device_backend_map

    def __repr__(self) -> str:
        return ",".join(f"{device}:{backend}" for device, backend in self.device_backend_map.items())


class DebugLevel(enum.IntEnum):
    """How much is checked: ``DETAIL`` compares the calls of all ranks before each collective."""

    OFF, INFO, DETAIL = range(3)
    __str__, __format__ = enum.Enum.__str__, enum.Enum.__format__


_level: DebugLevel | None = None


def get_debug_level() -> DebugLevel:
    """The level that was set, or that of ``$TORCH_DISTRIBUTED_DEBUG``."""
    if _level is None:
        set_debug_level_from_env()
    return _level or DebugLevel.OFF


def set_debug_level(level: DebugLevel) -> None:
    """Set how much is checked."""
    global _level
    _level = level


def set_debug_level_from_env() -> None:
    """Set it from ``$TORCH_DISTRIBUTED_DEBUG``: ``OFF``, ``INFO`` or ``DETAIL``."""
    text = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if text not in DebugLevel.__members__:
        raise RuntimeError(f"The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL, not {text}")
    set_debug_level(DebugLevel[text])


class _Options:
    """What the methods of a ``ProcessGroup`` are told beside their tensors."""

    def __init__(self) -> None:
        self.reduceOp: Any = RedOpType.SUM
        self.rootRank, self.rootTensor, self.asyncOp, self.device_ids = 0, 0, False, []  # type: ignore[var-annotated]
        self.timeout: timedelta | None = None


class AllreduceOptions(_Options): ...  # noqa: D101


class AllreduceCoalescedOptions(_Options): ...  # noqa: D101


class AllgatherOptions(_Options): ...


class AllToAllOptions(_Options): ...  # noqa: D101


class BarrierOptions(_Options): ...  # noqa: D101


class BroadcastOptions(_Options): ...  # noqa: D101


class GatherOptions(_Options): ...  # noqa: D101


class ReduceOptions(_Options): ...  # noqa: D101


class ReduceScatterOptions(_Options): ...  # noqa: D101


class ScatterOptions(_Options): ...  # noqa: D101
