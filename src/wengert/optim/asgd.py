"""ASGD: averaged stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.arrays import optim_kernels
from wengert.arrays.dtypes import default_float

from ._per_parameter import PerParameter, check_at_least_zero, check_lr, counter, decayed, number, zeros_like

if TYPE_CHECKING:
    from wengert.tensor import Tensor

    from ._per_parameter import Arrays
    from .optimizer import ParamsT

__all__ = ["ASGD"]


class ASGD(PerParameter):
    """Gradient descent that also keeps, from step ``t0`` on, the average of the parameters in ``state[p]["ax"]``.

    Polyak and Juditsky, "Acceleration of Stochastic Approximation by Averaging", 1992.
    """

    _scalars = ("step", "eta", "mu")
    _late_options = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
            t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
            differentiable: bool = False, capturable: bool = False) -> None:
        check_lr(lr)
        check_at_least_zero(weight_decay=weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _buffers(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("ax",)

    def _begin(self, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
        eta = counter(float(number(group["lr"])))
        return {"step": counter(0.0), "eta": eta, "mu": counter(1.0), "ax": zeros_like(p)}

    @staticmethod
    def _following(group: dict[str, Any], numbers: tuple[Any, ...]) -> tuple[float, ...]:
        """Step count, step size ``eta`` and averaging weight ``mu`` after this step."""
        step, lr = float(numbers[0]) + 1, number(group["lr"])
        rounded = default_float().type  # also where loading has made the state as wide as the parameter
        eta = lr / ((1 + group["lambd"] * lr * step) ** group["alpha"])
        return step, rounded(eta), rounded(1 / max(1, step - group["t0"]))

    def _update(self, group: dict[str, Any], numbers: tuple[Any, ...], *columns: Arrays) -> tuple[float, ...]:
        optim_kernels.asgd_update(*columns, eta=float(numbers[1]), mu=float(numbers[2]), lambd=group["lambd"],
            weight_decay=group["weight_decay"], maximize=group["maximize"])
        return self._following(group, numbers)

    def _change(self, group: dict[str, Any], p: Tensor, grad: Tensor, state: dict[str, Any],
            numbers: tuple[Any, ...]) -> Tensor:
        eta, mu = float(numbers[1]), float(numbers[2])
        grad = decayed(p, grad, group["weight_decay"])
        change = p * (-group["lambd"] * eta) - grad * eta
        state["ax"] = p + change if mu == 1 else state["ax"] + (p + change - state["ax"]) * mu
        for name, value in zip(self._scalars, self._following(group, numbers)):
            state[name].fill_(value)
        return change
