"""Averages of weights over the course of training: equal weights (SWA) or exponentially decaying ones (EMA)."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.graph import no_grad
from wengert.nn import Module
from wengert.tensor import Tensor, wrap

from ._lr_base import LRScheduler, per_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .optimizer import Optimizer

    Average = Callable[[Tensor, Tensor, Any], Tensor]
    AverageAll = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]


def _in_place(weight: Callable[[Any], float], average: Average) -> AverageAll:
    """``average`` for all tensors at once, in place; where it can be, as an interpolation by ``weight(n)``."""

    @no_grad()
    def update(averaged: Sequence[Tensor], current: Sequence[Tensor], num_averaged: Any) -> None:
        continuous = averaged[0].is_floating_point() or averaged[0].is_complex()
        for a, c in zip(averaged, current, strict=True):
            if continuous:
                a.lerp_(c, weight(num_averaged))
            else:
                a.copy_(average(a, c, num_averaged))

    return update


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageAll:
    """A function that moves averaged tensors towards current ones in place: ``a = decay * a + (1 - decay) * c``."""
    return _in_place(lambda n: 1 - decay, get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> AverageAll:
    """A function that adds one more to averages in place: ``a += (c - a) / (n + 1)`` after ``n`` averaged."""
    return _in_place(lambda n: float(1 / (n + 1)), get_swa_avg_fn())


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """A function that gives the exponential moving average of one tensor."""
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
    return no_grad()(lambda averaged, current, n: decay * averaged + (1 - decay) * current)


def get_swa_avg_fn() -> Average:
    """A function that gives the equally weighted average of one tensor."""
    return no_grad()(lambda averaged, current, n: averaged + (current - averaged) / (n + 1))


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of that model's.

    Izmailov et al., "Averaging Weights Leads to Wider Optima and Better Generalization", 2018. ``avg_fn``: ``(averaged,
    current, n) -> new average`` of one tensor; ``multi_avg_fn``: the same for all tensors at once, in place; with
    neither, all have the same weight. ``use_buffers``: average the buffers too, rather than copy the last ones.

    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 3.0):
    ...     _ = torch.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.item()
    2.0
    """

    n_averaged: Tensor

    def __init__(self, model: Module, device: Any = None, avg_fn: Average | None = None,
            multi_avg_fn: AverageAll | None = None, use_buffers: bool = False) -> None:
        from copy import deepcopy

        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        count = wrap(np.zeros((), np.int64))
        self.register_buffer("n_averaged", count if device is None else count.to(device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model gives."""
        return self.module(*args, **kwargs)

    def _tensors(self, model: Module) -> Iterable[Tensor]:
        return chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()

    def update_parameters(self, model: Module) -> None:
        """Take the present parameters of ``model`` into the average."""
        averaged = [p.detach() for p in self._tensors(self.module)]
        current = [p.detach().to(a.device) for a, p in zip(averaged, self._tensors(model))]
        if self.n_averaged.item() == 0:
            for a, p in zip(averaged, current):
                a.copy_(p)
        elif self.avg_fn is not None:
            for a, p in zip(averaged, current):
                a.copy_(self.avg_fn(a, p, self.n_averaged.to(a.device)))
        else:
            together: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
            for a, p in zip(averaged, current):
                both = together.setdefault((a.device, a.dtype), ([], []))
                both[0].append(a)
                both[1].append(p)
            for (device, _), (mine, theirs) in together.items():
                (self.multi_avg_fn or get_swa_multi_avg_fn())(mine, theirs, self.n_averaged.to(device))
        if not self.use_buffers:
            for mine_, theirs_ in zip(self.module.buffers(), model.buffers(), strict=True):
                mine_.detach().copy_(theirs_.detach().to(mine_.device))
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Estimate the statistics of the batch norm layers of ``model`` anew, in one pass over ``loader``.

    The loader gives inputs, or lists or tuples that begin with one; they are moved to ``device`` if there is one.
    """
    from wengert.nn.modules.batchnorm import _BatchNorm

    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # a plain average over all batches
    for batch in loader:
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(inputs if device is None else inputs.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneal the learning rate to ``swa_lr`` (of all groups or of each) in ``anneal_epochs`` epochs, by ``"cos"`` or
    ``"linear"``; the weights are averaged at that rate.
    """

    def __init__(self, optimizer: Optimizer, swa_lr: float | list[float], anneal_epochs: int = 10,
            anneal_strategy: str = "cos", last_epoch: int = -1) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for lr, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = lr
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """The part of the way that is done after the part ``t`` of the time."""
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def _lrs(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (self.anneal_func(max(0, min(1, t / max(1, self.anneal_epochs)))) for t in (step - 1, step))
        lrs = []
        for group in self.optimizer.param_groups:
            lr, last = group["lr"], group["swa_lr"]
            start = last if before == 1 else (lr - before * last) / (1 - before)
            lrs.append(last * now + start * (1 - now))
        return lrs
