"""Adadelta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.arrays import optim_kernels

from ._per_parameter import PerParameter, check_at_least_zero, check_lr, decayed, number, scalar

if TYPE_CHECKING:
    from wengert.tensor import Tensor

    from ._per_parameter import Arrays
    from .optimizer import ParamsT

__all__ = ["Adadelta"]


class Adadelta(PerParameter):
    """Adadelta: the ratio of running averages of past steps and past gradients sets the size of the next step.

    Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012.
    """

    _late_options = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(self, params: ParamsT, lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6,
            weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False,
            differentiable: bool = False) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_at_least_zero(epsilon=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _buffers(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("square_avg", "acc_delta")

    def _update(self, group: dict[str, Any], numbers: tuple[Any, ...], *columns: Arrays) -> tuple[float, ...]:
        optim_kernels.adadelta_update(*columns, lr=number(group["lr"]), rho=group["rho"], eps=group["eps"],
            weight_decay=group["weight_decay"], maximize=group["maximize"])
        return (float(numbers[0]) + 1,)

    def _change(self, group: dict[str, Any], p: Tensor, grad: Tensor, state: dict[str, Any],
            numbers: tuple[Any, ...]) -> Tensor:
        state["step"].fill_(float(numbers[0]) + 1)
        grad, rho, eps = decayed(p, grad, group["weight_decay"]), group["rho"], group["eps"]
        state["square_avg"] = square = state["square_avg"] * rho + grad * grad * (1 - rho)
        change = (state["acc_delta"] + eps).sqrt() / (square + eps).sqrt() * grad
        state["acc_delta"] = state["acc_delta"] * rho + change * change * (1 - rho)
        return change * -scalar(group["lr"])
