"""Schedules made of schedules: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from .base import LRScheduler, assign, current
from .plateau import ReduceLROnPlateau

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..optimizer import Optimizer


class _Composite(LRScheduler):
    """What the two have in common: the parts' states, and which parts will do."""

    _schedulers: Any

    def _check_parts(self, optimizer: Optimizer, schedulers: Sequence[Any]) -> None:
        name = type(self).__name__
        for i, part in enumerate(schedulers):
            if not hasattr(part, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(part, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {i} in the given schedulers sequence."
                )
            if optimizer is not part.optimizer:
                raise ValueError(f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(part).__name__} at index {i} has {part.optimizer}, which is different from "
                    f"{type(optimizer).__name__}.")

    def state_dict(self) -> dict[str, Any]:
        """The attributes but the optimizer, and the states of the parts."""
        state = {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "_schedulers")}
        state["_schedulers"] = [part.state_dict() for part in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the attributes in ``state_dict``, and the states of the parts."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for part, state in zip(self._schedulers, state_dict["_schedulers"]):
            part.load_state_dict(state)


class SequentialLR(_Composite):
    """One schedule after the other: the next begins at each of the epochs ``milestones``.

    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> warmup = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.25, total_iters=2)
    >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[2])
    >>> for epoch in range(4):
    ...     print(scheduler.get_last_lr())
    ...     optimizer.step()
    ...     scheduler.step()
    [0.25]
    [0.25]
    [1.0]
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int],
            last_epoch: int = -1) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check_parts(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Making the parts has stepped each of them once: back to the beginning, and only the first one steps.
        for group in optimizer.param_groups:
            assign(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the step that the schedules, and those within them, made when they were created."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for part in scheduler._schedulers:
                self.recursive_undo(part)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        part = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            part._update_lr(0)
        else:
            part.step()
        self._last_lr = part.get_last_lr()


class ChainedScheduler(_Composite):
    """All schedules at once: each multiplies what the one before it has set."""

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        self._check_parts(optimizer, schedulers)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = current(optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch."""
        for part in self._schedulers:
            part.step()
        self._last_lr = current(self.optimizer)
