"""Cosine annealing, without and with warm restarts.

Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2017.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .base import LRScheduler, current

if TYPE_CHECKING:
    from ..optimizer import Optimizer


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial learning rate down to ``eta_min`` in ``T_max`` epochs, then up again."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _lrs(self) -> list[Any]:
        low, groups = self.eta_min, self.optimizer.param_groups
        if self._is_initial:
            return current(self.optimizer)
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # at the bottom the quotient below is 0 / 0
            rise = 1 - math.cos(math.pi / self.T_max)
            return [group["lr"] + (base - low) * rise / 2 for base, group in zip(self.base_lrs, groups, strict=True)]
        now, before = (1 + math.cos(math.pi * t / self.T_max) for t in (self.last_epoch, self.last_epoch - 1))
        return [now / before * (group["lr"] - low) + low for group in groups]

    def _get_closed_form_lr(self) -> list[Any]:  # type: ignore[override]
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine down to ``eta_min`` in ``T_0`` epochs, and again from the top, ``T_mult`` times as slow."""

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0,
            last_epoch: int = -1) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def _lrs(self) -> list[Any]:
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to ``epoch``, which may be a fraction: ``epoch + batch / batches``."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:  # the restarts before are a geometric series
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            self._set_lrs(self.get_lr())
        finally:
            self._get_lr_called_within_step = False
