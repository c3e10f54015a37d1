"""SparseAdam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.arrays.optim_factored import sparse_adam_update
from wengert.graph import enable_grad
from wengert.tensor import Tensor

from ._per_parameter import check_betas, number, places, zeros_like
from .optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from .optimizer import ParamsT

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for dense parameters with sparse gradients: moments and elements move only where the gradient has entries.

    Made for ``nn.Embedding(..., sparse=True)``.  Entries stored in the gradient count, whatever their value.
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-8, maximize: bool = False) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places_of = [(i, j, p) for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])]
        sparse = [[i, j] for i, j, p in places_of if p.is_sparse]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        complex_ = [[i, j] for i, j, p in places_of if p.is_complex()]
        if complex_:
            raise ValueError(f"Complex params at indices {complex_}: SparseAdam does not support complex parameters")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; ``closure``, if given, evaluates the model again and returns the loss."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            if not all(p.grad.is_sparse for p in params):
                raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
            beta1, beta2 = group["betas"]
            for p in params:
                state = self.state[p]
                if not state:
                    state.update(step=0, exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
                state["step"] += 1
                at, values = places(p.grad)
                if values.size == 0:
                    continue
                sparse_adam_update(p._wg_data, at, -values if group.get("maximize", False) else values,
                    state["exp_avg"]._wg_data, state["exp_avg_sq"]._wg_data, step=state["step"], lr=number(group["lr"]),
                    beta1=beta1, beta2=beta2, eps=group["eps"])
                for changed in (p, state["exp_avg"], state["exp_avg_sq"]):
                    changed._wg_vc[0] += 1
        return loss
