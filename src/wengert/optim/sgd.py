"""Stochastic gradient descent, and methods that adapt the step size of each element to its past gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.arrays import optim_factored, optim_kernels
from wengert.arrays.dtypes import default_float
from wengert.graph import no_grad
from wengert.tensor import Tensor, wrap

from ._per_parameter import (
    PerParameter,
    blended,
    check,
    check_fused,
    counter,
    decayed,
    filled_like,
    number,
    places,
    scalar,
    zeros_like,
)

if TYPE_CHECKING:
    from ._per_parameter import Arrays, Group, Numbers, State
    from .optimizer import ParamsT

__all__ = ["ASGD", "SGD", "Adadelta", "Adagrad", "RMSprop", "Rprop"]


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

    _scalars = {}

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
            weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
            foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None) -> None:
        check(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
            nesterov=nesterov, maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused))

    def _buffers(self, group: Group) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] != 0 else ()

    def _enter(self, group: Group, p: Tensor) -> tuple[State, Numbers]:
        if group["fused"]:
            check_fused(p)
        if group["momentum"] == 0:
            return {}, (False,)
        state = self.state[p]
        first = state.get("momentum_buffer") is None
        if first:
            state["momentum_buffer"] = zeros_like(p) if p._wg_opaque else wrap(np.empty_like(p._wg_data))
        return state, (first,)

    def _update(self, group: Group, numbers: Numbers, *columns: Arrays) -> None:
        optim_kernels.sgd_update(*columns, lr=number(group["lr"]), momentum=group["momentum"],
            dampening=group["dampening"], weight_decay=number(group["weight_decay"]), nesterov=group["nesterov"],
            maximize=group["maximize"], first=numbers[0])

    def _update_sparse(self, group: Group, p: Tensor, grad: Tensor) -> None:
        if group["momentum"] != 0 or group["weight_decay"] != 0:
            with no_grad():
                self._update_recorded(group, p, grad)
            return
        at, values = places(grad)
        lr = number(group["lr"])
        optim_factored.sgd_rows_update(p._wg_data, at, values, lr=-lr if group["maximize"] else lr)
        p._wg_vc[0] += 1

    def _change(self, group: Group, p: Tensor, grad: Tensor, state: State, numbers: Numbers) -> Tensor:
        grad = decayed(p, grad, group["weight_decay"])
        momentum = group["momentum"]
        if momentum != 0:
            state["momentum_buffer"] = buf = (grad.detach().clone() if numbers[0]
                else state["momentum_buffer"] * momentum + grad * (1 - group["dampening"]))
            grad = grad + buf * momentum if group["nesterov"] else buf
        return grad * -scalar(group["lr"])


class ASGD(PerParameter):
    """Gradient descent that also keeps, from step ``t0`` on, the average of the parameters in ``state[p]["ax"]``.

    Polyak and Juditsky, "Acceleration of Stochastic Approximation by Averaging", 1992.
    """

    _scalars = {"step": 0.0, "eta": 0.0, "mu": 1.0}
    _arrays = ("ax",)

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
            t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
            differentiable: bool = False, capturable: bool = False) -> None:
        check(lr=lr, weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay,
            foreach=foreach, maximize=maximize, differentiable=differentiable, capturable=capturable))

    def _begin(self, group: Group, p: Tensor) -> State:
        return super()._begin(group, p) | {"eta": counter(float(number(group["lr"])))}

    @staticmethod
    def _following(group: Group, numbers: Numbers) -> tuple[float, ...]:
        """The step size ``eta`` and the averaging weight ``mu`` after this step."""
        step, lr = numbers[0], number(group["lr"])
        rounded = default_float().type  # also where loading has made the state as wide as the parameter
        eta = lr / ((1 + group["lambd"] * lr * step) ** group["alpha"])
        return rounded(eta), rounded(1 / max(1, step - group["t0"]))

    def _update(self, group: Group, numbers: Numbers, *columns: Arrays) -> Numbers:
        optim_kernels.asgd_update(*columns, eta=float(numbers[1]), mu=float(numbers[2]), lambd=group["lambd"],
            weight_decay=group["weight_decay"], maximize=group["maximize"])
        return self._following(group, numbers)

    def _change(self, group: Group, p: Tensor, grad: Tensor, state: State, numbers: Numbers) -> Tensor:
        eta, mu = float(numbers[1]), float(numbers[2])
        grad = decayed(p, grad, group["weight_decay"])
        change = p * (-group["lambd"] * eta) - grad * eta
        state["ax"] = p + change if mu == 1 else state["ax"] + (p + change - state["ax"]) * mu
        for name, value in zip(("eta", "mu"), self._following(group, numbers)):
            state[name].fill_(value)
        return change


class Rprop(PerParameter):
    """Rprop: a step size for each element, growing while its gradient keeps its sign, shrinking when it turns.

    Riedmiller and Braun, "A Direct Adaptive Method for Faster Backpropagation Learning", 1993.
    ``lr``: the initial step size; ``etas``: the factors for a turned and for a kept sign; ``step_sizes``: bounds.
    """

    _arrays = ("prev", "step_size")

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
            step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
            maximize: bool = False, differentiable: bool = False) -> None:
        check(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable))

    def _begin(self, group: Group, p: Tensor) -> State:
        lr = number(group["lr"])
        size = filled_like(p, complex(lr, lr) if p.is_complex() else lr)  # real and imaginary parts step alike
        return super()._begin(group, p) | {"step_size": size}

    def _update(self, group: Group, numbers: Numbers, *columns: Arrays) -> None:
        (eta_minus, eta_plus), (step_min, step_max) = group["etas"], group["step_sizes"]
        optim_kernels.rprop_update(*columns, eta_minus=eta_minus, eta_plus=eta_plus, step_min=step_min,
            step_max=step_max, maximize=group["maximize"])

    def _change(self, group: Group, p: Tensor, grad: Tensor, state: State, numbers: Numbers) -> Tensor:
        eta_minus, eta_plus = group["etas"]
        agreement = (grad * state["prev"]).detach().sign()
        factor = ((agreement > 0) * (eta_plus - 1) + (agreement < 0) * (eta_minus - 1) + 1).to(p.dtype)
        state["step_size"] = size = (state["step_size"] * factor).clamp(*group["step_sizes"])
        state["prev"] = grad = grad.masked_fill(agreement < 0, 0)
        return grad.sign() * -size


class Adagrad(PerParameter):
    """Adagrad: each element's step shrinks with the sum of its squared gradients.

    ``total += g * g;  p -= lr / (1 + (step - 1) * lr_decay) * g / (sqrt(total) + eps)``.  Duchi, Hazan and Singer,
    "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", 2011.  Takes sparse gradients.
    """

    _arrays = ("sum",)

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
            initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
            maximize: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:
        check(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value,
            epsilon=eps)
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value, foreach=foreach, maximize=maximize,
            differentiable=differentiable, fused=fused))
        for group in self.param_groups:
            for p in group["params"]:
                self._enter(group, p)

    def _begin(self, group: Group, p: Tensor) -> State:
        start = self.defaults["initial_accumulator_value"]
        return super()._begin(group, p) | {"sum": filled_like(p, complex(start, start) if p.is_complex() else start)}

    def share_memory(self) -> None:
        """Move the sums to memory that other processes can share."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _update(self, group: Group, numbers: Numbers, *columns: Arrays) -> None:
        optim_kernels.adagrad_update(*columns, step=numbers[0], lr=number(group["lr"]), lr_decay=group["lr_decay"],
            eps=group["eps"], weight_decay=group["weight_decay"], maximize=group["maximize"])

    def _update_sparse(self, group: Group, p: Tensor, grad: Tensor) -> None:
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

    def _change(self, group: Group, p: Tensor, grad: Tensor, state: State, numbers: Numbers) -> Tensor:
        grad = decayed(p, grad, group["weight_decay"])
        state["sum"] = total = state["sum"] + grad * grad
        rate = -scalar(group["lr"]) / (1 + (numbers[0] - 1) * group["lr_decay"])
        return grad / (total.sqrt() + group["eps"]) * rate


class Adadelta(PerParameter):
    """Adadelta: the ratio of running averages of past steps and past gradients sets the size of the next step.

    Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012.
    """

    _arrays = ("square_avg", "acc_delta")

    def __init__(self, params: ParamsT, lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6,
            weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False,
            differentiable: bool = False) -> None:
        check(lr=lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check(epsilon=eps, weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize,
            capturable=capturable, foreach=foreach, differentiable=differentiable))

    def _update(self, group: Group, numbers: Numbers, *columns: Arrays) -> None:
        optim_kernels.adadelta_update(*columns, lr=number(group["lr"]), rho=group["rho"], eps=group["eps"],
            weight_decay=group["weight_decay"], maximize=group["maximize"])

    def _change(self, group: Group, p: Tensor, grad: Tensor, state: State, numbers: Numbers) -> Tensor:
        grad, rho, eps = decayed(p, grad, group["weight_decay"]), group["rho"], group["eps"]
        state["square_avg"] = square = state["square_avg"] * rho + grad * grad * (1 - rho)
        change = (state["acc_delta"] + eps).sqrt() / (square + eps).sqrt() * grad
        state["acc_delta"] = state["acc_delta"] * rho + change * change * (1 - rho)
        return change * -scalar(group["lr"])


class RMSprop(PerParameter):
    """RMSprop: steps scaled by a running average of the squared gradient.

    Hinton, "Neural Networks for Machine Learning", lecture 6, 2012.  ``centered`` divides by an estimate of the
    gradient's variance instead (Graves, "Generating Sequences With Recurrent Neural Networks", 2013).
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
            weight_decay: float = 0, momentum: float = 0, centered: bool = False, capturable: bool = False,
            foreach: bool | None = None, maximize: bool = False, differentiable: bool = False) -> None:
        check(lr=lr, epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered,
            weight_decay=weight_decay, capturable=capturable, foreach=foreach, maximize=maximize,
            differentiable=differentiable))

    def _buffers(self, group: Group) -> tuple[str, ...]:
        extras = (("momentum_buffer", group["momentum"] > 0), ("grad_avg", group["centered"]))
        return ("square_avg", *(name for name, used in extras if used))

    def _update(self, group: Group, numbers: Numbers, *columns: Arrays) -> None:
        params, grads, square_avgs, *rest = columns
        optim_kernels.rmsprop_update(params, grads, square_avgs, rest.pop(0) if group["momentum"] > 0 else None,
            rest.pop(0) if group["centered"] else None, lr=number(group["lr"]), alpha=group["alpha"], eps=group["eps"],
            weight_decay=group["weight_decay"], momentum=group["momentum"], maximize=group["maximize"])

    def _change(self, group: Group, p: Tensor, grad: Tensor, state: State, numbers: Numbers) -> Tensor:
        grad, alpha, lr = decayed(p, grad, group["weight_decay"]), group["alpha"], scalar(group["lr"])
        state["square_avg"] = spread = state["square_avg"] * alpha + grad * grad * (1 - alpha)
        if group["centered"]:
            state["grad_avg"] = mean = blended(state["grad_avg"], grad, 1 - alpha)
            spread = spread - mean * mean
        change = grad / (spread.sqrt() + group["eps"])
        if group["momentum"] > 0:
            state["momentum_buffer"] = change = state["momentum_buffer"] * group["momentum"] + change
        return change * -lr
