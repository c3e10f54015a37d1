"""RAdam: rectified Adam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.arrays import optim_kernels

from ._per_parameter import PerParameter, blended, check_at_least_zero, check_betas, check_lr, decayed, number, scalar

if TYPE_CHECKING:
    from wengert.tensor import Tensor

    from ._per_parameter import Arrays
    from .optimizer import ParamsT

__all__ = ["RAdam"]


class RAdam(PerParameter):
    """RAdam: Adam that warms up by itself, from plain momentum, while its second moment is uncertain.

    Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", 2020.
    """

    _late_options = {
        "foreach": None, "maximize": False, "differentiable": False, "decoupled_weight_decay": False,
        "capturable": False,
    }

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
            foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
            differentiable: bool = False) -> None:
        check_lr(lr)
        check_at_least_zero(epsilon=eps)
        check_betas(betas)
        check_at_least_zero(weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _buffers(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def _update(self, group: dict[str, Any], numbers: tuple[Any, ...], *columns: Arrays) -> tuple[float, ...]:
        step = float(numbers[0]) + 1
        beta1, beta2 = group["betas"]
        optim_kernels.radam_update(*columns, step=step, lr=number(group["lr"]), beta1=beta1, beta2=beta2,
            eps=group["eps"], weight_decay=group["weight_decay"], decoupled=group["decoupled_weight_decay"],
            maximize=group["maximize"])
        return (step,)

    def _change(self, group: dict[str, Any], p: Tensor, grad: Tensor, state: dict[str, Any],
            numbers: tuple[Any, ...]) -> Tensor:
        step = float(numbers[0]) + 1
        state["step"].fill_(step)
        beta1, beta2 = group["betas"]
        lr, decay, decoupled = scalar(group["lr"]), group["weight_decay"], group["decoupled_weight_decay"]
        if not decoupled:
            grad = decayed(p, grad, decay)
        state["exp_avg"] = mean = blended(state["exp_avg"], grad, 1 - beta1)
        state["exp_avg_sq"] = square = state["exp_avg_sq"] * beta2 + grad * grad * (1 - beta2)
        change = mean / (1 - beta1**step) * -lr
        rectification = optim_kernels.radam_rectification(step, beta2)
        if rectification is not None:
            change = change / (square.sqrt() + group["eps"]) * ((1 - beta2**step) ** 0.5 * rectification)
        return change - p.clone() * (lr * decay) if decoupled else change
