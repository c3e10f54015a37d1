"""Averages within small groups often, within large ones seldom."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from wengert import distributed as dist

from .averagers import ModelAverager
from .utils import average_parameters_or_parameter_groups

if TYPE_CHECKING:
    from collections import OrderedDict
    from collections.abc import Iterable

__all__ = ["HierarchicalModelAverager"]

logger = logging.getLogger(__name__)


class HierarchicalModelAverager(ModelAverager):
    """Averages every ``period`` steps within groups of ``size`` processes.

    ``period_group_size_dict``: an ordered dictionary ``{period: size}``, both growing, periods multiples of those
    before; the last size is that of the whole group. Where several periods end at once the largest group is taken.
    """

    def __init__(self, period_group_size_dict: OrderedDict[int, int] | None = None, warmup_steps: int = 0,
            process_group: Any = None) -> None:
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        self._periods = list(period_group_size_dict)
        if self._periods[0] <= 0:
            raise ValueError("The minimum period in arg ``period_group_size_dict`` must be a positive value.")
        if self._periods[-1] == 1:
            raise ValueError("When the maximum period in arg ``period_group_size_dict`` is 1, no need to use model "
                "averaging because the communication cost of all-reducing parameters will be no less than the cost of "
                "all-reducing gradients by DistributedDataParallel in the backward pass. Therefore, only "
                "DistributedDataParallel should be used for this case.")
        whole = self.process_group.size()
        last = list(period_group_size_dict.values())[-1]
        if last != whole:
            raise ValueError(f"The last value in arg ``period_process_group_dict`` {last}"
                f" must be equal to the size of arg ``process_group`` {whole}.")
        self.period_process_group_dict: dict[int, Any] = {}
        for period, size in period_group_size_dict.items():
            self.period_process_group_dict[period] = self.process_group if size == whole else dist.new_subgroups(
                group_size=size, group=self.process_group)[0]
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps

    def _find_process_group(self) -> Any:
        """The largest group whose period ends at this step; None if none does."""
        for period in reversed(self._periods):
            if self.step % period == 0:
                return self.period_process_group_dict[period]
        return None

    def average_parameters(self, params: Iterable[Any]) -> None:
        if self.step >= self.warmup_steps:
            group = self._find_process_group()
            if group is not None:
                average_parameters_or_parameter_groups(params, group)
        self.step += 1
