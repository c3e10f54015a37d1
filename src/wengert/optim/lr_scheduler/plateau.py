"""A schedule that listens: less learning rate when a metric stops improving."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .base import LRScheduler, assign, check_optimizer, current, warn_epoch

if TYPE_CHECKING:
    from typing import SupportsFloat

    from ..optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Multiply by ``factor`` after more than ``patience`` epochs without improvement.

    Args:
        optimizer: the optimizer.
        mode: whether a better metric is ``"min"`` or ``"max"``.
        factor: less than 1.
        patience: epochs without improvement that are tolerated.
        threshold: how much better counts as an improvement.
        threshold_mode: as a fraction of the best (``"rel"``) or as a difference (``"abs"``).
        cooldown: epochs after a reduction in which nothing is counted.
        min_lr: lower bound, for all groups or for each.
        eps: reductions smaller than this are not made.

    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in (3.0, 3.0, 3.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
            threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0, min_lr: list[float] | float = 0,
            eps: float = 1e-8) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        self.factor = factor
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        self.default_min_lr: float | None
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != groups:
                raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
            self.default_min_lr, self.min_lrs = None, list(min_lr)
        else:
            self.default_min_lr, self.min_lrs = min_lr, [min_lr] * groups
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = current(optimizer)
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def _is_better(self, value: float, best: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        goal = best * (1.0 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return value > goal if self.mode == "max" else value < goal

    @property
    def in_cooldown(self) -> bool:
        """Whether a reduction was made less than ``cooldown`` epochs ago."""
        return self.cooldown_counter > 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take note of an epoch's metric."""
        value = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warn_epoch()
        self.last_epoch = epoch
        if self._is_better(value, self.best):
            self.best = value
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = current(self.optimizer)

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups.")
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                assign(group, "lr", new)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the attributes in ``state_dict``."""
        self.__dict__.update(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)
