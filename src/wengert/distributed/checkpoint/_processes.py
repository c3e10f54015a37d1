"""The processes that save or load together, or one alone."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING, Any

from ... import distributed as dist
from .api import CheckpointException

if TYPE_CHECKING:
    from collections.abc import Callable


class _Failed:
    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.trace = list(traceback.extract_tb(sys.exc_info()[2]))


class Processes:
    """The processes of ``group``; ``coordinator`` decides for all."""

    def __init__(self, group: Any = None, alone: bool = False, coordinator: int = 0) -> None:
        self.group, self.alone, self.coordinator = group, alone, coordinator
        self.rank = 0 if alone else dist.get_rank(group)
        self.size = 1 if alone else dist.get_world_size(group)
        self.is_coordinator = self.rank == coordinator

    def everyone(self, value: Any) -> list[Any]:
        """What every process gives."""
        if self.size == 1:
            return [value]
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, value, group=self.group)
        return found

    def step(self, name: str, here: Callable[[], Any], joined: Callable[[list[Any]], Any] | None = None) -> Any:
        """``here()`` of this process, or what the coordinator makes of those of all with ``joined``; errors are those
        of all.
        """
        answers = self.everyone(_tried(here))
        self._raise(name, answers)
        if joined is None:
            return answers[self.rank]
        decided = self.everyone(_tried(lambda: joined(answers)) if self.is_coordinator else None)
        self._raise(name, decided)
        return decided[self.coordinator]

    def _raise(self, name: str, answers: list[Any]) -> None:
        failures = {r: (a.error, a.trace) for r, a in enumerate(answers) if isinstance(a, _Failed)}
        if failures:
            raise CheckpointException(name, failures) from failures.get(self.rank, (None,))[0]


def _tried(f: Callable[[], Any]) -> Any:
    try:
        return f()
    except BaseException as error:
        return _Failed(error)


def is_alone(no_dist: bool) -> bool:
    """Whether this process saves or loads by itself."""
    return no_dist or not (dist.is_available() and dist.is_initialized())
