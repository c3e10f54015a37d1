"""Schedules that multiply the learning rate by a factor, and so can act on top of each other."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Any

from .base import LRScheduler, current

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..optimizer import Optimizer

    Factor = Callable[[int], float]


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
        self.step_size = step_size
        self.gamma = gamma
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
        self.factor = factor
        self.total_iters = total_iters
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
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
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
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        left, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return (left / before) ** self.power

    def _total_factor(self) -> float:
        return (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power


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
        from types import FunctionType

        state = {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "lr_lambdas")}
        state["lr_lambdas"] = [None if isinstance(f, FunctionType) else f.__dict__.copy() for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the attributes in ``state_dict``, and those of functions that are objects."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
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
