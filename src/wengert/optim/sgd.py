"""Stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.arrays import optim_factored, optim_kernels
from wengert.graph import no_grad
from wengert.tensor import Tensor, wrap

from ._per_parameter import (
    PerParameter,
    check_at_least_zero,
    check_fused,
    check_lr,
    decayed,
    number,
    places,
    scalar,
    zeros_like,
)

if TYPE_CHECKING:
    from ._per_parameter import Arrays
    from .optimizer import ParamsT

__all__ = ["SGD"]


class SGD(PerParameter):
    """Stochastic gradient descent, optionally with (Nesterov) momentum.

    ``b = momentum * b + (1 - dampening) * g;  p -= lr * b`` with ``g = grad + weight_decay * p``; the first ``b`` is
    ``g``.  With ``nesterov`` the step is along ``g + momentum * b``.  Sutskever et al., "On the importance of
    initialization and momentum in deep learning", 2013.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    _scalars = ()
    _late_options = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
            weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
            foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None) -> None:
        check_lr(lr)
        check_at_least_zero(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }
        super().__init__(params, defaults)
        self._allow_fused()

    def _buffers(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] != 0 else ()

    def _enter(self, group: dict[str, Any], p: Tensor) -> tuple[dict[str, Any], tuple[Any, ...]]:
        if group["fused"]:
            check_fused(p)
        if group["momentum"] == 0:
            return {}, (False,)
        state = self.state[p]
        first = state.get("momentum_buffer") is None
        if first:
            state["momentum_buffer"] = zeros_like(p) if p._wg_opaque else wrap(np.empty_like(p._wg_data))
        return state, (first,)

    def _update(self, group: dict[str, Any], numbers: tuple[Any, ...], *columns: Arrays) -> tuple[float, ...]:
        optim_kernels.sgd_update(*columns, lr=number(group["lr"]), momentum=group["momentum"],
            dampening=group["dampening"], weight_decay=number(group["weight_decay"]), nesterov=group["nesterov"],
            maximize=group["maximize"], first=numbers[0])
        return ()

    def _update_sparse(self, group: dict[str, Any], p: Tensor, grad: Tensor) -> None:
        if group["momentum"] != 0 or group["weight_decay"] != 0:
            with no_grad():
                self._update_recorded(group, p, grad)
            return
        at, values = places(grad)
        lr = number(group["lr"])
        optim_factored.sgd_rows_update(p._wg_data, at, values, lr=-lr if group["maximize"] else lr)
        p._wg_vc[0] += 1

    def _change(self, group: dict[str, Any], p: Tensor, grad: Tensor, state: dict[str, Any],
            numbers: tuple[Any, ...]) -> Tensor:
        grad = decayed(p, grad, group["weight_decay"])
        momentum = group["momentum"]
        if momentum != 0:
            if numbers[0]:
                buf = grad.detach().clone()
            else:
                buf = state["momentum_buffer"] * momentum + grad * (1 - group["dampening"])
            state["momentum_buffer"] = buf
            grad = grad + buf * momentum if group["nesterov"] else buf
        return grad * -scalar(group["lr"])
