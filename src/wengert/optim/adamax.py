"""Adamax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.arrays import optim_kernels

from ._per_parameter import PerParameter, blended, check_at_least_zero, check_betas, check_lr, decayed, number, scalar

if TYPE_CHECKING:
    from wengert.tensor import Tensor

    from ._per_parameter import Arrays
    from .optimizer import ParamsT

__all__ = ["Adamax"]


class Adamax(PerParameter):
    """Adamax: Adam with a decayed maximum in place of the second moment.

    Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, section 7.1.
    """

    _late_options = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(self, params: ParamsT, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
            differentiable: bool = False, capturable: bool = False) -> None:
        check_lr(lr)
        check_at_least_zero(epsilon=eps)
        check_betas(betas)
        check_at_least_zero(weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _buffers(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_inf")

    def _update(self, group: dict[str, Any], numbers: tuple[Any, ...], *columns: Arrays) -> tuple[float, ...]:
        step = float(numbers[0]) + 1
        beta1, beta2 = group["betas"]
        optim_kernels.adamax_update(*columns, step=step, lr=number(group["lr"]), beta1=beta1, beta2=beta2,
            eps=group["eps"], weight_decay=group["weight_decay"], maximize=group["maximize"])
        return (step,)

    def _change(self, group: dict[str, Any], p: Tensor, grad: Tensor, state: dict[str, Any],
            numbers: tuple[Any, ...]) -> Tensor:
        step = float(numbers[0]) + 1
        state["step"].fill_(step)
        beta1, beta2 = group["betas"]
        grad = decayed(p, grad, group["weight_decay"])
        state["exp_avg"] = mean = blended(state["exp_avg"], grad, 1 - beta1)
        state["exp_inf"] = largest = (state["exp_inf"] * beta2).maximum(grad.abs() + group["eps"])
        return mean / largest * (-scalar(group["lr"]) / (1 - beta1**step))
