"""``CommDebugMode``."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

from ....dispatch.torch_dispatch import OpOverloadPacket
from .._collectives import WATCHERS


class CommDebugMode:
    """Inside, the collectives of DTensors are counted.

    >>> from wengert.distributed.tensor.debug import CommDebugMode
    >>> with CommDebugMode() as comm_mode:
    ...     pass
    >>> comm_mode.get_total_counts()
    0
    """

    def __init__(self) -> None:
        self.comm_counts: Counter[Any] = Counter()

    def __enter__(self) -> CommDebugMode:
        self.comm_counts.clear()
        WATCHERS.append(self._count)
        return self

    def __exit__(self, *exc: object) -> None:
        WATCHERS.remove(self._count)

    def _count(self, name: str, count: int) -> None:
        self.comm_counts[_packet(name)] += count

    def get_total_counts(self) -> int:
        """How many there were."""
        return sum(self.comm_counts.values())

    def get_comm_counts(self) -> dict[Any, int]:
        """How many there were of each kind."""
        return dict(self.comm_counts)


@cache
def _packet(name: str) -> Any:
    return OpOverloadPacket(name, "c10d_functional")
