"""Rprop: resilient backpropagation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.arrays import optim_kernels

from ._per_parameter import PerParameter, check_lr, counter, filled_like, number, zeros_like

if TYPE_CHECKING:
    from wengert.tensor import Tensor

    from ._per_parameter import Arrays
    from .optimizer import ParamsT

__all__ = ["Rprop"]


class Rprop(PerParameter):
    """Rprop: a step size for each element, growing while its gradient keeps its sign, shrinking when it turns.

    Riedmiller and Braun, "A Direct Adaptive Method for Faster Backpropagation Learning", 1993.

    Args:
        params: see :class:`Optimizer`.
        lr: the initial step size.
        etas: factors for a turned and for a kept sign.
        step_sizes: smallest and largest step size.
        capturable, foreach, maximize, differentiable: as everywhere.
    """

    _late_options = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
            step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
            maximize: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _buffers(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("prev", "step_size")

    def _begin(self, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
        lr = number(group["lr"])
        size = filled_like(p, complex(lr, lr) if p.is_complex() else lr)  # real and imaginary parts step alike
        return {"step": counter(0.0), "prev": zeros_like(p), "step_size": size}

    def _update(self, group: dict[str, Any], numbers: tuple[Any, ...], *columns: Arrays) -> tuple[float, ...]:
        (eta_minus, eta_plus), (step_min, step_max) = group["etas"], group["step_sizes"]
        optim_kernels.rprop_update(*columns, eta_minus=eta_minus, eta_plus=eta_plus, step_min=step_min,
            step_max=step_max, maximize=group["maximize"])
        return (float(numbers[0]) + 1,)

    def _change(self, group: dict[str, Any], p: Tensor, grad: Tensor, state: dict[str, Any],
            numbers: tuple[Any, ...]) -> Tensor:
        state["step"].fill_(float(numbers[0]) + 1)
        eta_minus, eta_plus = group["etas"]
        agreement = (grad * state["prev"]).detach().sign()
        factor = ((agreement > 0) * (eta_plus - 1) + (agreement < 0) * (eta_minus - 1) + 1).to(p.dtype)
        state["step_size"] = size = (state["step_size"] * factor).clamp(*group["step_sizes"])
        state["prev"] = grad = grad.masked_fill(agreement < 0, 0)
        return grad.sign() * -size
