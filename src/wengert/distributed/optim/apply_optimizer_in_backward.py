"""Optimizers that step while the backward runs: each parameter, as soon as its gradient is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__: list[str] = []


def _apply_optimizer_in_backward(optimizer_class: Any, params: Iterable[Any], optimizer_kwargs: dict[str, Any],
        register_hook: bool = True) -> None:
    """Give each parameter an optimizer of its own, which steps in the backward and then drops the gradient.

    >>> from wengert.distributed.optim import _apply_optimizer_in_backward
    >>> x = torch.nn.Parameter(torch.ones(1))
    >>> _apply_optimizer_in_backward(torch.optim.SGD, [x], {"lr": 0.5})
    >>> x.sum().backward()
    >>> x.item(), x.grad
    (0.5, None)
    """
    for p in params:
        if not hasattr(p, "_in_backward_optimizers"):
            p._in_backward_optimizers, p._optimizer_classes, p._optimizer_kwargs = [], [], []
        p._optimizer_classes.append(optimizer_class)
        p._optimizer_kwargs.append(optimizer_kwargs)
        own = optimizer_class([p], **optimizer_kwargs)
        p._in_backward_optimizers.append(own)
        if register_hook:
            p.register_post_accumulate_grad_hook(_stepper(own))


def _stepper(optimizer: Any) -> Any:
    def hook(p: Any) -> None:
        optimizer.step()
        p.grad = None

    return hook


def _get_in_backward_optimizers(module: Any) -> list[Any]:
    """The optimizers that step in the backward of a module."""
    return [o for p in module.parameters() for o in getattr(p, "_in_backward_optimizers", [])]
