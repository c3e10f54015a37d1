"""Adafactor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.arrays.optim_factored import adafactor_update
from wengert.graph import enable_grad, set_grad_enabled
from wengert.tensor import Tensor, wrap

from ._per_parameter import counter, number, watched, zeros_like
from .optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from .optimizer import ParamsT

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adafactor: the second moment of a matrix kept as its row and column means, so the state is nearly free.

    Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", 2018.

    Args:
        params: see :class:`Optimizer`; real.
        lr: upper bound of the relative step size ``1 / sqrt(step)``.
        beta2_decay: the second moment takes ``step ** beta2_decay`` of each new square.
        eps: smallest root mean square of an update (None: the dtype's epsilon), and of a parameter.
        d: updates with a larger root mean square are scaled down to it.
        weight_decay: decoupled decay.
        foreach: accepted; one implementation serves both.
        maximize: go up instead of down.
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
            eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
            foreach: bool | None = None, maximize: bool = False) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

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
        if grad._wg_opaque:
            return {"step": counter(0.0), "row_var": grad.new_zeros(rows), "col_var": grad.new_zeros(cols)}
        return {
            "step": counter(0.0), "row_var": wrap(np.zeros(rows, grad._wg_data.dtype)),
            "col_var": wrap(np.zeros(cols, grad._wg_data.dtype)),
        }

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
