"""Uneven inputs: processes that have none left take part in the collectives of those that have.

Every iteration of a process with inputs begins with an all-reduce that counts such processes. A process without runs
the ``main_hook`` of each joinable, which answers the collectives of one iteration, until the count is zero.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import wengert

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

__all__ = ["Join", "JoinHook", "Joinable"]

_WARN_AFTER = 1000  # iterations that one process has alone


class JoinHook:
    """What a process does that has no inputs left. Both methods may be overridden."""

    def main_hook(self) -> None:
        """Answer the collectives of one iteration of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """When no process has inputs left; ``is_last_joiner``: this one was among the last that had."""


class Joinable(ABC):
    """A class that can take part in ``Join``: it gives a hook, a device and a group of processes."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig.disabled()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook; it gets the keyword arguments of ``Join``."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the collectives."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The processes."""


class _JoinConfig(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool

    @staticmethod
    def disabled() -> _JoinConfig:
        return _JoinConfig(False, False, False)


class Join:
    """A context in which the processes may have different numbers of inputs.

    ``joinables``: objects that communicate in each iteration, such as ``DistributedDataParallel`` and
    ``ZeroRedundancyOptimizer``. With ``throw_on_early_termination``, all raise ``RuntimeError`` as soon as one has no
    inputs left. Raises ``ValueError`` for an empty list or joinables of different groups.
    """

    def __init__(self, joinables: Sequence[Joinable], enable: bool = True, throw_on_early_termination: bool = False,
            **kwargs: Any) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = list(joinables)
        self._hooks = [joinable.join_hook(**kwargs) for joinable in self._joinables]
        self._enable, self._throw = enable, throw_on_early_termination
        for i, joinable in enumerate(self._joinables):
            joinable._join_config = _JoinConfig(enable, throw_on_early_termination, i == 0)
        groups = [joinable.join_process_group for joinable in self._joinables]
        if any(group is not groups[0] for group in groups):
            raise ValueError("Using join context manager with multiple process groups")
        if any(joinable.join_device != self._joinables[0].join_device for joinable in self._joinables):
            raise ValueError("Multiple devices are not supported by the join context manager")
        self._group, self._device = groups[0], self._joinables[0].join_device
        self._rank = self._group.rank()

    def __enter__(self) -> Join:
        return self

    def __exit__(self, type: type[BaseException] | None, value: BaseException | None,
            traceback: TracebackType | None) -> None:
        if not self._enable or type:
            return
        alone, last = 0, True
        while self._others():
            if self._throw:
                self._end_all()
            for hook in self._hooks:
                hook.main_hook()
            last = False
            alone += 1
            if alone == _WARN_AFTER:
                warnings.warn("Detected uneven input skew of greater than 1000. This means that rank "
                    f"{self._rank} has at least 1000 fewer inputs than other currently-active ranks. This level of "
                    "skew could lead to performance degradation during training.", stacklevel=2)
        for hook in self._hooks:
            hook.post_hook(last)

    def _others(self) -> int:
        """How many processes have inputs."""
        return int(_count(self._group, self._device, 0)[1].item())

    def _end_all(self) -> None:
        from wengert import distributed as dist

        dist.all_reduce(wengert.ones(1, device=self._device), group=self._group)
        raise RuntimeError(f"Rank {self._rank} exhausted all inputs.")

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Any:
        """Tell processes without inputs that this one begins an iteration: called by joinables before they communicate.

        Gives the work of the all-reduce if this is the first joinable of an active context, else None.
        """
        from wengert import distributed as dist

        config = getattr(joinable, "_join_config", None)
        if config is None:
            raise AssertionError(f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor")
        if not config.is_first_joinable or not config.enable:
            return None
        group, device = joinable.join_process_group, joinable.join_device
        work, active = _count(group, device, 1)
        work.counted = active
        if config.throw_on_early_termination:
            ended = wengert.zeros(1, device=device)
            dist.all_reduce(ended, group=group)
            if ended.item():
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work


def _count(group: Any, device: Any, mine: int) -> tuple[Any, Any]:
    from wengert import distributed as dist

    counted = wengert.full((1,), float(mine), device=device)
    work = dist.all_reduce(counted, group=group, async_op=bool(mine))
    return work, counted
