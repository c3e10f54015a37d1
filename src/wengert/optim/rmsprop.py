"""RMSprop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.arrays import optim_kernels

from ._per_parameter import PerParameter, blended, check_at_least_zero, check_lr, decayed, number, scalar

if TYPE_CHECKING:
    from wengert.tensor import Tensor

    from ._per_parameter import Arrays
    from .optimizer import ParamsT

__all__ = ["RMSprop"]


class RMSprop(PerParameter):
    """RMSprop: steps scaled by a running average of the squared gradient.

    Hinton, "Neural Networks for Machine Learning", lecture 6, 2012.  ``centered`` divides by an estimate of the
    gradient's variance instead (Graves, "Generating Sequences With Recurrent Neural Networks", 2013).
    """

    _late_options = {
        "momentum": 0, "centered": False, "foreach": None, "maximize": False, "differentiable": False,
        "capturable": False,
    }

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
            weight_decay: float = 0, momentum: float = 0, centered: bool = False, capturable: bool = False,
            foreach: bool | None = None, maximize: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        check_at_least_zero(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _buffers(self, group: dict[str, Any]) -> tuple[str, ...]:
        extras = (("momentum_buffer", group["momentum"] > 0), ("grad_avg", group["centered"]))
        return ("square_avg", *(name for name, used in extras if used))

    def _update(self, group: dict[str, Any], numbers: tuple[Any, ...], *columns: Arrays) -> tuple[float, ...]:
        params, grads, square_avgs, *rest = columns
        optim_kernels.rmsprop_update(params, grads, square_avgs, rest.pop(0) if group["momentum"] > 0 else None,
            rest.pop(0) if group["centered"] else None, lr=number(group["lr"]), alpha=group["alpha"], eps=group["eps"],
            weight_decay=group["weight_decay"], momentum=group["momentum"], maximize=group["maximize"])
        return (float(numbers[0]) + 1,)

    def _change(self, group: dict[str, Any], p: Tensor, grad: Tensor, state: dict[str, Any],
            numbers: tuple[Any, ...]) -> Tensor:
        state["step"].fill_(float(numbers[0]) + 1)
        grad, alpha, lr = decayed(p, grad, group["weight_decay"]), group["alpha"], scalar(group["lr"])
        state["square_avg"] = spread = state["square_avg"] * alpha + grad * grad * (1 - alpha)
        if group["centered"]:
            state["grad_avg"] = mean = blended(state["grad_avg"], grad, 1 - alpha)
            spread = spread - mean * mean
        change = grad / (spread.sqrt() + group["eps"])
        if group["momentum"] > 0:
            state["momentum_buffer"] = change = state["momentum_buffer"] * group["momentum"] + change
        return change * -lr
