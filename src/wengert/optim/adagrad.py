"""Adagrad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.arrays import optim_factored, optim_kernels

from ._per_parameter import (
    PerParameter,
    check_at_least_zero,
    check_lr,
    counter,
    decayed,
    filled_like,
    number,
    places,
    scalar,
)

if TYPE_CHECKING:
    from wengert.tensor import Tensor

    from ._per_parameter import Arrays
    from .optimizer import ParamsT

__all__ = ["Adagrad"]


class Adagrad(PerParameter):
    """Adagrad: each element's step shrinks with the sum of its squared gradients.

    ``total += g * g;  p -= lr / (1 + (step - 1) * lr_decay) * g / (sqrt(total) + eps)``.  Duchi, Hazan and Singer,
    "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", 2011.  Takes sparse gradients.
    """

    _late_options = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
            initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
            maximize: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:
        check_lr(lr)
        check_at_least_zero(lr_decay=lr_decay, weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value, epsilon=eps)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }
        super().__init__(params, defaults)
        self._allow_fused()
        for group in self.param_groups:
            for p in group["params"]:
                self._enter(group, p)

    def _buffers(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("sum",)

    def _begin(self, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
        start = self.defaults["initial_accumulator_value"]
        total = filled_like(p, complex(start, start) if p.is_complex() else start)
        return {"step": counter(0.0, bool(group["fused"])), "sum": total}

    def share_memory(self) -> None:
        """Move the sums to memory that other processes can share."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _update(self, group: dict[str, Any], numbers: tuple[Any, ...], *columns: Arrays) -> tuple[float, ...]:
        step = float(numbers[0]) + 1
        optim_kernels.adagrad_update(*columns, step=step, lr=number(group["lr"]), lr_decay=group["lr_decay"],
            eps=group["eps"], weight_decay=group["weight_decay"], maximize=group["maximize"])
        return (step,)

    def _update_sparse(self, group: dict[str, Any], p: Tensor, grad: Tensor) -> None:
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        state, (step,) = self._enter(group, p)
        at, values = places(grad)
        optim_factored.adagrad_rows_update(p._wg_data, at, -values if group["maximize"] else values,
            state["sum"]._wg_data, step=float(step) + 1, lr=number(group["lr"]), lr_decay=group["lr_decay"],
            eps=group["eps"])
        state["step"]._wg_data.fill(float(step) + 1)
        for changed in (p, *state.values()):
            changed._wg_vc[0] += 1

    def _change(self, group: dict[str, Any], p: Tensor, grad: Tensor, state: dict[str, Any],
            numbers: tuple[Any, ...]) -> Tensor:
        step = float(numbers[0]) + 1
        state["step"].fill_(step)
        grad = decayed(p, grad, group["weight_decay"])
        state["sum"] = total = state["sum"] + grad * grad
        return grad / (total.sqrt() + group["eps"]) * (-scalar(group["lr"]) / (1 + (step - 1) * group["lr_decay"]))
