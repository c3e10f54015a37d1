"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.arrays import optim_kernels

from ._per_parameter import (
    PerParameter,
    blended,
    check_at_least_zero,
    check_betas,
    check_lr,
    counter,
    decayed,
    number,
    scalar,
)

if TYPE_CHECKING:
    from wengert.tensor import Tensor

    from ._per_parameter import Arrays
    from .optimizer import ParamsT

__all__ = ["NAdam"]


class NAdam(PerParameter):
    """NAdam: Adam with Nesterov momentum, whose strength ``mu`` grows over the steps.

    Dozat, "Incorporating Nesterov Momentum into Adam", 2016.
    """

    _scalars = ("step", "mu_product")
    _late_options = {
        "maximize": False, "foreach": None, "capturable": False, "differentiable": False,
        "decoupled_weight_decay": False,
    }

    def __init__(self, params: ParamsT, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
            decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
            capturable: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        check_at_least_zero(epsilon=eps)
        check_betas(betas)
        check_at_least_zero(weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _buffers(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def _begin(self, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
        state = super()._begin(group, p)
        return {"step": state.pop("step"), "mu_product": counter(1.0), **state}

    @staticmethod
    def _momenta(group: dict[str, Any], step: float) -> tuple[float, float]:
        """The momentum of this step and of the next."""
        beta1, slowness = group["betas"][0], group["momentum_decay"]
        mu, following = (beta1 * (1.0 - 0.5 * (0.96 ** (t * slowness))) for t in (step, step + 1))
        return mu, following

    def _update(self, group: dict[str, Any], numbers: tuple[Any, ...], *columns: Arrays) -> tuple[float, ...]:
        step = float(numbers[0]) + 1
        mu, mu_next = self._momenta(group, step)
        mu_product = float(numbers[1] * mu)  # rounded as the state is
        beta1, beta2 = group["betas"]
        optim_kernels.nadam_update(*columns, step=step, lr=number(group["lr"]), beta1=beta1, beta2=beta2,
            eps=group["eps"], mu=mu, mu_next=mu_next, mu_product=mu_product, weight_decay=group["weight_decay"],
            decoupled=group["decoupled_weight_decay"], maximize=group["maximize"])
        return step, mu_product

    def _change(self, group: dict[str, Any], p: Tensor, grad: Tensor, state: dict[str, Any],
            numbers: tuple[Any, ...]) -> Tensor:
        step = float(numbers[0]) + 1
        mu, mu_next = self._momenta(group, step)
        mu_product = float(numbers[1] * mu)
        state["step"].fill_(step)
        state["mu_product"].fill_(mu_product)
        beta1, beta2 = group["betas"]
        lr, decay, decoupled = scalar(group["lr"]), group["weight_decay"], group["decoupled_weight_decay"]
        if not decoupled:
            grad = decayed(p, grad, decay)
        state["exp_avg"] = mean = blended(state["exp_avg"], grad, 1 - beta1)
        state["exp_avg_sq"] = square = state["exp_avg_sq"] * beta2 + grad * grad * (1 - beta2)
        along = grad * ((1.0 - mu) / (1.0 - mu_product)) + mean * (mu_next / (1.0 - mu_product * mu_next))
        change = along / ((square / (1 - beta2**step)).sqrt() + group["eps"]) * -lr
        return change - p.clone() * (lr * decay) if decoupled else change
