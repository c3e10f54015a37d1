"""Learning rate schedules: objects that set the ``lr`` of an optimizer's parameter groups, step by step."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ._lr_base import (
    EPOCH_DEPRECATION_WARNING,
    ChainedScheduler,
    LRScheduler,
    ReduceLROnPlateau,
    SequentialLR,
    _LRScheduler,
    assign,
    check_optimizer,
    current,
    per_group,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .optimizer import Optimizer

    Factor = Callable[[int], float]

__all__ = [
    "EPOCH_DEPRECATION_WARNING", "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR",
    "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR", "_LRScheduler",
]


class _Chainable(LRScheduler):
    """Multiplies the present learning rates, whoever set them, by the change from one epoch to the next."""

    def _factor(self) -> float | None:
        """From the last epoch to this one; None leaves the learning rates alone."""
        raise NotImplementedError

    def _total_factor(self) -> float:
        """From the initial learning rates to those of this epoch."""
        raise NotImplementedError

    def _lrs(self) -> list[Any]:
        factor = self._factor()
        if factor is None:
            return current(self.optimizer)
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:  # type: ignore[override]
        factor = self._total_factor()
        return [lr * factor for lr in self.base_lrs]


class StepLR(_Chainable):
    """Multiply by ``gamma`` every ``step_size`` epochs.

    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for epoch in range(4):
    ...     optimizer.step()
    ...     scheduler.step()
    ...     print(scheduler.get_last_lr())
    [1.0]
    [0.5]
    [0.5]
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self.last_epoch == 0 or self.last_epoch % self.step_size != 0 else self.gamma

    def _total_factor(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(_Chainable):
    """Multiply by ``gamma`` at each of the epochs ``milestones``; as often as it is listed."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1,
            last_epoch: int = -1) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return self.gamma ** self.milestones[self.last_epoch] if self.last_epoch in self.milestones else None

    def _total_factor(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(_Chainable):
    """Multiply by ``factor`` until epoch ``total_iters``."""

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5,
            last_epoch: int = -1) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def _total_factor(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(_Chainable):
    """Multiply by a factor that goes from ``start_factor`` to ``end_factor`` in ``total_iters`` equal steps."""

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0,
            total_iters: int = 5, last_epoch: int = -1) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _total_factor(self) -> float:
        rise = self.end_factor - self.start_factor
        return self.start_factor + rise * min(self.total_iters, self.last_epoch) / self.total_iters


class ExponentialLR(_Chainable):
    """Multiply by ``gamma`` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self._is_initial else self.gamma

    def _total_factor(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(_Chainable):
    """Multiply by ``(1 - epoch / total_iters) ** power``, down to zero."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        left, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return (left / before) ** self.power

    def _total_factor(self) -> float:
        return (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power


def _attributes(f: Any) -> dict[str, Any] | None:
    """What a state dict holds of a function: the attributes of an object that can be called."""
    return None if f is None or isinstance(f, FunctionType) else f.__dict__.copy()


class _Functions(LRScheduler):
    """Schedules given by functions of the epoch, one for all groups or one for each."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != groups:
                raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * groups
        self._check()
        super().__init__(optimizer, last_epoch)

    def _check(self) -> None:
        pass

    def state_dict(self) -> dict[str, Any]:
        """The attributes but the optimizer; of the functions, the attributes of those that are objects."""
        return super().state_dict() | {"lr_lambdas": list(map(_attributes, self.lr_lambdas))}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the attributes in ``state_dict``, and those of functions that are objects."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(_Functions):
    """The initial learning rate times ``lr_lambda(epoch)``."""

    def _lrs(self) -> list[Any]:
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_Functions):
    """Multiply by ``lr_lambda(epoch)`` every epoch."""

    def _check(self) -> None:
        for f in self.lr_lambdas:
            if not callable(f):
                raise TypeError(f"lr_lambda should be a function, but got {type(f).__name__}")

    def _lrs(self) -> list[Any]:
        if self._is_initial:
            return current(self.optimizer)
        groups = self.optimizer.param_groups
        return [group["lr"] * f(self.last_epoch) for f, group in zip(self.lr_lambdas, groups, strict=True)]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial learning rate down to ``eta_min`` in ``T_max`` epochs, then up again."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
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
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
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
        self._update_lr(math.floor(epoch))


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

    Smith, "Cyclical Learning Rates for Training Neural Networks", 2017. Bounds are for all groups or for each.
    ``step_size_up``, ``step_size_down``: batches from bottom to top, and back (default: the same). ``mode``:
    ``"triangular"``; ``"triangular2"`` halves the amplitude every cycle; ``"exp_range"`` multiplies it by ``gamma``
    every batch; ``scale_fn`` is another amplitude, as a function of the ``"cycle"`` or of the ``"iterations"``
    (``scale_mode``). With ``cycle_momentum`` the momentum goes down while the learning rate goes up.
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
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        if scale_fn is None:
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode = scale_mode
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The amplitude in cycle (or iteration) ``x``."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return self._exp_range_scale_fn(self.gamma, x)
        return self._triangular_scale_fn(x) if self.mode == "triangular" else self._triangular2_scale_fn(x)

    # PyTorch's files of whole schedules refer to these by name.
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
        return super().state_dict() | {"_scale_fn_custom": _attributes(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


class OneCycleLR(_Cycling):
    """Up to ``max_lr``, and down to nearly nothing, once; step it after every batch.

    Smith and Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates", 2018.
    ``total_steps``: batches in all, or ``epochs`` times ``steps_per_epoch``; ``pct_start``: the part of the cycle that
    goes up; ``anneal_strategy``: ``"cos"`` or ``"linear"``. The cycle begins at ``max_lr / div_factor`` and ends at
    that divided by ``final_div_factor``; ``three_phase``: down to where it began as fast as up, and only then to the
    end. With ``cycle_momentum`` the momentum goes down while the learning rate goes up.
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
