"""Averagers, to be called after each step of the optimizer."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from wengert import distributed as dist

from .utils import average_parameters_or_parameter_groups

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """The base: a group of processes, and a count of steps."""

    def __init__(self, process_group: Any = None) -> None:
        self.process_group: Any = dist.group.WORLD if process_group is None else process_group
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average, if it is time."""


class PeriodicModelAverager(ModelAverager):
    """Averages every ``period`` steps, after ``warmup_steps``.

    With ``post_localSGD_hook``, whose gradients are averaged globally up to ``start_localSGD_iter``, the warm-up is
    that number. ``ValueError`` for a warm-up below 0 or a period that is not positive.
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn("When period is 1, no need to use model averaging because the communication cost of "
                "all-reducing parameters will be no less than the cost of all-reducing gradients by "
                "DistributedDataParallel in the backward pass. Therefore, only DistributedDataParallel should be used "
                "for this case.", stacklevel=2)
        self.period = period

    def average_parameters(self, params: Iterable[Any]) -> None:
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
