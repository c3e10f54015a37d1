"""Muon."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wengert.arrays.optim_factored import muon_update
from wengert.graph import enable_grad, set_grad_enabled
from wengert.tensor import Tensor
from wengert.tensor.functions import function

from ._per_parameter import number, watched, zeros_like
from .optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from .optimizer import ParamsT

__all__ = ["Muon"]

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)


class Muon(Optimizer):
    """Muon: momentum whose matrix is made orthogonal before each step; for the weight matrices of hidden layers.

    Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024.  Embeddings, biases and the last
    layer belong to another optimizer, such as AdamW.

    Args:
        params: see :class:`Optimizer`; two-dimensional.
        lr: learning rate.
        weight_decay: decoupled decay.
        momentum: weight of the past.
        nesterov: whether the step looks one gradient ahead.
        ns_coefficients: the quintic polynomial of the Newton-Schulz iteration.
        eps: smallest norm that the momentum is divided by.
        ns_steps: iterations, fewer than 100.
        adjust_lr_fn: ``"original"`` (default; times ``sqrt(max(1, rows / columns))``) or ``"match_rms_adamw"``.
    """

    def __init__(self, params: ParamsT, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
            nesterov: bool = True, ns_coefficients: tuple[float, float, float] = _COEFFICIENTS, eps: float = 1e-7,
            ns_steps: int = 5, adjust_lr_fn: str | None = None) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not momentum >= 0.0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                    )

    @staticmethod
    def _rate(lr: Any, rule: str | None, shape: tuple[int, ...]) -> Any:
        """The learning rate for a matrix of this shape."""
        rows, columns = shape[:2]
        if rule == "match_rms_adamw":
            return lr * (0.2 * math.sqrt(max(rows, columns)))
        return lr * math.sqrt(max(1, rows / columns))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; ``closure``, if given, evaluates the model again and returns the loss."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            for p in params:
                if p.is_complex():
                    raise RuntimeError("Muon does not support complex parameters")
                if p.grad.is_sparse:
                    raise RuntimeError("Muon does not support sparse gradients")
                if p.grad.ndim != 2:
                    raise ValueError("Param gradient must be a 2D matrix")
            if params and group["ns_steps"] >= 100:
                raise ValueError("Number of steps must be less than 100 for computational efficiency")
            if params and len(group["ns_coefficients"]) != 3:
                raise ValueError("Coefficients must be a tuple of exactly 3 values")
            lr = number(group["lr"])
            for p in params:
                state = self.state[p]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = zeros_like(p.grad)
                if watched((p,)):
                    with set_grad_enabled(False):
                        self._by_class(p, p.grad, state["momentum_buffer"], group)
                    continue
                muon_update(p._wg_data, p.grad._wg_data, state["momentum_buffer"]._wg_data, lr=lr,
                    rate=self._rate(lr, group["adjust_lr_fn"], p._wg_data.shape), weight_decay=group["weight_decay"],
                    momentum=group["momentum"], nesterov=group["nesterov"], ns_coefficients=group["ns_coefficients"],
                    ns_steps=group["ns_steps"], eps=group["eps"])
                p._wg_vc[0] += 1
                state["momentum_buffer"]._wg_vc[0] += 1
        return loss

    def _by_class(self, p: Tensor, grad: Tensor, buffer: Tensor, group: dict[str, Any]) -> None:
        """The same in tensors: of a class that computes with them itself."""
        lr, momentum, (a, b, c) = number(group["lr"]), group["momentum"], group["ns_coefficients"]
        buffer.lerp_(grad, 1 - momentum)
        x = (grad.lerp(buffer, momentum) if group["nesterov"] else buffer).bfloat16()
        tall = x.size(0) > x.size(1)
        x = x.T if tall else x
        x = x / x.norm().clamp(min=group["eps"])
        addmm = function("addmm")
        for _ in range(group["ns_steps"]):
            gram = x @ x.T
            x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(x.T if tall else x, alpha=-self._rate(lr, group["adjust_lr_fn"], p._wg_data.shape))
