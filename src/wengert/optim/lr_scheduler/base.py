"""``LRScheduler``, what all schedules have in common."""

from __future__ import annotations

import functools
import warnings
import weakref
from typing import Any

from wengert.tensor import Tensor

from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def check_optimizer(optimizer: Any) -> None:
    """Refuse anything that is not an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copied(value: Any) -> Any:
    """A tensor's copy; numbers as they are.  Schedules and groups must not share tensors."""
    return value.clone() if isinstance(value, Tensor) else value


def current(optimizer: Optimizer, key: str = "lr") -> list[Any]:
    """``group[key]`` of every parameter group."""
    return [copied(group[key]) for group in optimizer.param_groups]


def assign(group: dict[str, Any], key: str, value: Any) -> None:
    """Set ``group[key]``, in place where it is a tensor."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.squeeze() if isinstance(value, Tensor) and value.dim() else value)
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value for each parameter group, from a list of them or from one for all."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * groups
    elif len(value) != groups:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(value)} values, param_groups has {groups}.")
    return [copied(v) for v in value]


def warn_epoch() -> None:
    """Warn that ``step`` was given an epoch."""
    warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=3)


class LRScheduler:
    """Base class of learning rate schedules: a subclass defines ``get_lr()``, one learning rate per parameter group.

    Args:
        optimizer: its groups' ``lr`` are set here and at every ``step()``.
        last_epoch: the last epoch done, when a schedule is resumed; -1 at the start.

    >>> w = torch.zeros(1, requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=1.0)
    >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr * 0.5**self.last_epoch for lr in self.base_lrs]
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _get_closed_form_lr: Any

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                    "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 for a "
                    "fresh training run (not recommended)")
        self.base_lrs = current(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _track_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All of the schedule's attributes but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the attributes in ``state_dict``."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The learning rates set last, one per group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The learning rates of epoch ``last_epoch``; for use within ``step``; otherwise use ``get_last_lr``."""
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning, stacklevel=2)
        return self._lrs()

    def _lrs(self) -> list[Any]:
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch, after the optimizer's step.  Giving ``epoch`` is deprecated."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                    "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. "
                    f"See more details at {_ORDER}",
                    UserWarning,
                    stacklevel=2,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                    "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure "
                    "to do this will result in PyTorch skipping the first value of the learning rate schedule. "
                    f"See more details at {_ORDER}",
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        if epoch is not None:
            warn_epoch()
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._get_lr_called_within_step = True
        try:
            closed = epoch is not None and hasattr(self, "_get_closed_form_lr")
            self._set_lrs(self._get_closed_form_lr() if closed else self.get_lr())
        finally:
            self._get_lr_called_within_step = False

    def _set_lrs(self, values: list[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            assign(group, "lr", lr)
        self._last_lr = current(self.optimizer)


class _LRScheduler(LRScheduler):
    """The base class under its older name."""


def _track_steps(optimizer: Optimizer) -> None:
    """Have ``optimizer`` note that its ``step`` was called."""
    step = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched"):
        return
    func: Any = step.__func__  # type: ignore[attr-defined]
    reference = weakref.ref(optimizer)  # the optimizer must not hold itself

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        opt: Any = reference()
        opt._opt_called = True
        return func(opt, *args, **kwargs)

    wrapper._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = wrapper  # type: ignore[method-assign]
