"""Schedules that go up and down, and move the momentum the other way: ``CyclicLR`` and ``OneCycleLR``."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from .base import LRScheduler, assign, check_optimizer, per_group

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..optimizer import Optimizer


class _Cycling(LRScheduler):
    """Schedules that also set the momentum: ``momentum`` or, where there is none, the first of the ``betas``."""

    cycle_momentum: bool
    use_beta1: bool

    def _start_momentum(self, base_momentum: Any, max_momentum: Any, last_epoch: int) -> tuple[list[Any], list[Any]]:
        """The bounds for each group, which the groups take note of."""
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        lows = per_group("base_momentum", optimizer, base_momentum)
        highs = per_group("max_momentum", optimizer, max_momentum)
        if last_epoch == -1:
            for low, high, group in zip(lows, highs, optimizer.param_groups):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return lows, highs

    def _set_momentum(self, group: dict[str, Any], momentum: Any) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_Cycling):
    """A triangle wave between ``base_lr`` and ``max_lr``; step it after every batch.

    Smith, "Cyclical Learning Rates for Training Neural Networks", 2017.

    Args:
        optimizer: the optimizer.
        base_lr, max_lr: bounds, for all groups or for each.
        step_size_up, step_size_down: batches from bottom to top, and back (default: the same).
        mode: ``"triangular"``; ``"triangular2"`` halves the amplitude every cycle; ``"exp_range"`` multiplies it by
            ``gamma`` every batch.
        gamma: see ``mode``.
        scale_fn, scale_mode: another amplitude, as a function of the ``"cycle"`` or of the ``"iterations"``.
        cycle_momentum, base_momentum, max_momentum: whether the momentum goes down while the learning rate goes up.
        last_epoch: the last batch done, when a schedule is resumed.
    """

    def __init__(self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float],
            step_size_up: int = 2000, step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
            scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle", cycle_momentum: bool = True,
            base_momentum: float | list[float] = 0.8, max_momentum: float | list[float] = 0.9,
            last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups):
                assign(group, "lr", lr)
        up = float(step_size_up)
        down = float(step_size_down) if step_size_down is not None else up
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is not None:
            return
        self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"
        self._scale_fn_ref: Callable[[float], float]
        if self.mode == "exp_range":
            self._scale_fn_ref = partial(self._exp_range_scale_fn, self.gamma)
        else:
            self._scale_fn_ref = self._triangular_scale_fn if self.mode == "triangular" else self._triangular2_scale_fn

    def scale_fn(self, x: float) -> float:
        """The amplitude in cycle (or iteration) ``x``."""
        return self._scale_fn_ref(x) if self._scale_fn_custom is None else self._scale_fn_custom(x)

    @staticmethod
    def _triangular_scale_fn(x: float) -> float:
        return 1.0

    @staticmethod
    def _triangular2_scale_fn(x: float) -> float:
        return 1 / (2.0 ** (x - 1))

    @staticmethod
    def _exp_range_scale_fn(gamma: float, x: float) -> float:
        return gamma**x

    def _lrs(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        amplitude = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True)
            for low, high, group in bounds:
                self._set_momentum(group, high - (high - low) * height * amplitude)
        return [low + (high - low) * height * amplitude for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer; of ``scale_fn``, the attributes if it is an object."""
        from types import FunctionType

        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        f = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None if f is None or isinstance(f, FunctionType) else f.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the attributes in ``state_dict``."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])
        self._init_scale_fn()


class OneCycleLR(_Cycling):
    """Up to ``max_lr``, and down to nearly nothing, once; step it after every batch.

    Smith and Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates", 2018.

    Args:
        optimizer: the optimizer.
        max_lr: the top, for all groups or for each.
        total_steps: batches in all; or ``epochs`` times ``steps_per_epoch``.
        epochs, steps_per_epoch: see ``total_steps``.
        pct_start: the part of the cycle that goes up.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        cycle_momentum, base_momentum, max_momentum: whether the momentum goes down while the learning rate goes up.
        div_factor: the cycle begins at ``max_lr / div_factor``,
        final_div_factor: and ends at that divided by this.
        three_phase: down to where it began as fast as up, and only then to the end.
        last_epoch: the last batch done, when a schedule is resumed.
    """

    def __init__(self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None,
            epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
            anneal_strategy: str = "cos", cycle_momentum: bool = True, base_momentum: float | list[float] = 0.85,
            max_momentum: float | list[float] = 0.95, div_factor: float = 25.0, final_div_factor: float = 1e4,
            three_phase: bool = False, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is not None:
            _check_positive(total_steps=total_steps)
            self.total_steps = total_steps
        elif epochs is not None and steps_per_epoch is not None:
            _check_positive(epochs=epochs, steps_per_epoch=steps_per_epoch)
            self.total_steps = epochs * steps_per_epoch
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        top = float(pct_start * self.total_steps) - 1
        phases = [(top, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            back = float(2 * pct_start * self.total_steps) - 2
            phases.append((back, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
            phases.append((self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
        else:
            phases.append((self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"))
        names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        self._schedule_phases: list[dict[str, Any]] = [dict(zip(names, phase)) for phase in phases]
        self._anneal_func_type = anneal_strategy
        max_lrs = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for lr, group in zip(max_lrs, optimizer.param_groups):
                group["initial_lr"] = lr / div_factor
                group["max_lr"] = lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _anneal_func(self, start: Any, end: Any, pct: float) -> Any:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)
        return (end - start) * pct + start

    def _lrs(self) -> list[Any]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start, last = 0.0, self._schedule_phases[-1]
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is last:
                break
            start = phase["end_step"]
        pct = (step - start) / (phase["end_step"] - start)
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], pct))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._anneal_func(*ends, pct))
        return lrs


def _check_positive(**options: Any) -> None:
    for name, value in options.items():
        if value <= 0 or not isinstance(value, int):
            raise ValueError(f"Expected positive integer {name}, but got {value}")
