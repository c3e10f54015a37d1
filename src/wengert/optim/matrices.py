"""Optimizers of matrices: Muon, and Adafactor, which takes other shapes too."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.arrays.optim_factored import adafactor_update, muon_update
from wengert.graph import set_grad_enabled
from wengert.tensor import Tensor
from wengert.tensor.functions import function

from ._per_parameter import counter, number, watched, zeros_like
from .optimizer import Optimizer, evaluated

if TYPE_CHECKING:
    from collections.abc import Callable

    from .optimizer import ParamsT

__all__ = ["Adafactor", "Muon"]


_COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def _check(lr: Any, options: dict[str, Any]) -> None:
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    for name, value in {"Learning rate": lr, **options}.items():
        if not value >= 0.0:
            raise ValueError(f"{name} should be >= 0 but is: {value}")


class Muon(Optimizer):
    """Muon: momentum whose matrix is made orthogonal before each step; for the weight matrices of hidden layers.

    Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024.  Embeddings, biases and the last
    layer belong to another optimizer, such as AdamW.  ``weight_decay`` is decoupled; ``ns_coefficients``: the quintic
    polynomial of ``ns_steps`` (fewer than 100) Newton-Schulz iterations; ``eps``: the smallest norm that the momentum
    is divided by; ``adjust_lr_fn``: ``"original"`` (default; times ``sqrt(max(1, rows / columns))``) or
    ``"match_rms_adamw"``.
    """

    def __init__(self, params: ParamsT, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
            nesterov: bool = True, ns_coefficients: tuple[float, float, float] = _COEFFICIENTS, eps: float = 1e-7,
            ns_steps: int = 5, adjust_lr_fn: str | None = None) -> None:
        _check(lr, {"momentum": momentum, "weight decay": weight_decay})
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov,
            ns_coefficients=ns_coefficients, eps=eps, ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn))
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
        loss = None if closure is None else evaluated(closure)
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


class Adafactor(Optimizer):
    """Adafactor: the second moment of a matrix kept as its row and column means, so the state is nearly free.

    Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", 2018.  ``lr``: upper bound of
    the relative step size ``1 / sqrt(step)``; the second moment takes ``step ** beta2_decay`` of each new square;
    ``eps``: smallest root mean square of an update (None: the dtype's epsilon), and of a parameter; updates with a
    larger root mean square than ``d`` are scaled down to it; ``weight_decay`` is decoupled.
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
            eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
            foreach: bool | None = None, maximize: bool = False) -> None:
        _check(lr, {"epsilon1": 0.0 if eps[0] is None else eps[0], "epsilon2": eps[1], "weight_decay": weight_decay})
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay,
            foreach=foreach, maximize=maximize))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)
            for p in group["params"]:
                mine = self.state.get(p)
                if mine and not isinstance(mine["step"], Tensor):
                    mine["step"] = counter(float(mine["step"]))

    @staticmethod
    def _begin(grad: Tensor) -> dict[str, Any]:
        shape = grad._wg_data.shape
        if len(shape) <= 1:
            return {"step": counter(0.0), "variance": zeros_like(grad)}
        rows, cols = (*shape[:-1], 1), (*shape[:-2], 1, shape[-1])
        return {"step": counter(0.0), "row_var": grad.new_zeros(rows), "col_var": grad.new_zeros(cols)}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; ``closure``, if given, evaluates the model again and returns the loss."""
        loss = None if closure is None else evaluated(closure)
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            for p in params:
                if p.is_complex():
                    raise RuntimeError("Adafactor does not support complex parameters")
                if p.grad.is_sparse:
                    raise RuntimeError("Adafactor does not support sparse gradients")
            eps1, eps2 = group["eps"]
            for p in params:
                if eps1 is None:
                    eps1 = _epsilon(p._wg_data.dtype)
                grad, state = p.grad, self.state[p]
                if not state:
                    state.update(self._begin(grad))
                if watched((p,)):
                    with set_grad_enabled(False):
                        state["step"].add_(1)
                        self._by_class(p, grad, state, group, eps1)
                    continue
                state["step"]._wg_data += 1
                factors = [state.get(name) for name in ("row_var", "col_var", "variance")]
                adafactor_update(p._wg_data, grad._wg_data, *[None if f is None else f._wg_data for f in factors],
                    step=state["step"].item(), lr=number(group["lr"]), beta2_decay=group["beta2_decay"], eps1=eps1,
                    eps2=eps2, d=group["d"], weight_decay=group["weight_decay"], maximize=group["maximize"])
                for changed in (p, state["step"], *factors):
                    if changed is not None:
                        changed._wg_vc[0] += 1
        return loss

    @staticmethod
    def _by_class(p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], eps1: float) -> None:
        """The same in tensors: of a class that computes with them itself."""
        step, lr, eps2 = state["step"].item(), number(group["lr"]), group["eps"][1]
        grad = -grad if group["maximize"] else grad
        fresh = step ** group["beta2_decay"]
        rate = max(eps2, p.norm().item() / math.sqrt(p.numel())) * min(lr, 1 / math.sqrt(step))
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        if "variance" in state:
            estimate = state["variance"].lerp_(grad * grad, fresh).clone()
        else:
            rows, cols = state["row_var"], state["col_var"]
            rows.lerp_(grad.norm(dim=-1, keepdim=True).square_().div_(grad.size(-1)), fresh)
            cols.lerp_(grad.norm(dim=-2, keepdim=True).square_().div_(grad.size(-2)), fresh)
            estimate = (rows @ cols).div_(rows.mean(-2, keepdim=True).clamp_(min=eps1))
        update = estimate.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        p.add_(update, alpha=-rate / max(1.0, update.norm().item() / (math.sqrt(update.numel()) * group["d"])))


def _epsilon(dtype: np.dtype) -> float:
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else 2.0**-7  # NumPy has no bfloat16
