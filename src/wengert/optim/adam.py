"""Adam and AdamW."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.arrays import optim_kernels
from wengert.tensor import Tensor

from ._per_parameter import PerParameter, blended, check_at_least_zero, check_betas, check_lr, decayed, number, scalar

if TYPE_CHECKING:
    from ._per_parameter import Arrays
    from .optimizer import ParamsT

__all__ = ["Adam"]


class Adam(PerParameter):
    """Adam: steps scaled by running averages of the gradient and of its square.

    Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015; ``amsgrad``: Reddi et al., "On the Convergence
    of Adam and Beyond", 2018.  ``weight_decay`` is added to the gradient, or with ``decoupled_weight_decay`` taken
    from the parameters, as in :class:`AdamW`.  ``lr`` and ``betas`` may be one-element tensors.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    _sparse_hint = ", please consider SparseAdam instead"
    _late_options = {
        "amsgrad": False, "maximize": False, "foreach": None, "capturable": False, "differentiable": False,
        "decoupled_weight_decay": False, "fused": None,
    }

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3,
            betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
            amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
            differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: bool = False) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_lr(lr)
        check_at_least_zero(epsilon=eps)
        check_betas(betas)
        check_at_least_zero(weight_decay=weight_decay)
        kinds = [Tensor if isinstance(b, Tensor) else float if isinstance(b, float) else None for b in betas]
        if None in kinds or kinds[0] is not kinds[1]:
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                if foreach and not capturable:
                    raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{i}] must be 1-element")
        defaults = {
            "lr": lr, "betas": tuple(map(scalar, betas)), "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
            "fused": fused, "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        self._allow_fused()

    def _buffers(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")

    def _update(self, group: dict[str, Any], numbers: tuple[Any, ...], *columns: Arrays) -> tuple[float, ...]:
        if group["foreach"] and isinstance(group["lr"], Tensor) and not group["capturable"]:
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
        step = float(numbers[0]) + 1
        beta1, beta2 = group["betas"]
        optim_kernels.adam_update(*columns, step=step, lr=number(group["lr"]), beta1=number(beta1), beta2=number(beta2),
            eps=group["eps"], weight_decay=number(group["weight_decay"]), decoupled=group["decoupled_weight_decay"],
            maximize=group["maximize"])
        return (step,)

    def _change(self, group: dict[str, Any], p: Tensor, grad: Tensor, state: dict[str, Any],
            numbers: tuple[Any, ...]) -> Tensor:
        beta1, beta2 = group["betas"]
        lr, decay, decoupled = scalar(group["lr"]), group["weight_decay"], group["decoupled_weight_decay"]
        step = float(numbers[0]) + 1
        state["step"].fill_(step)
        if not decoupled:
            grad = decayed(p, grad, decay)
        state["exp_avg"] = mean = blended(state["exp_avg"], grad, 1 - beta1)
        state["exp_avg_sq"] = square = state["exp_avg_sq"] * beta2 + grad * grad * (1 - beta2)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = square = state["max_exp_avg_sq"].maximum(square)
        change = mean / (square.sqrt() / (1 - beta2**step) ** 0.5 + group["eps"]) * (-lr / (1 - beta1**step))
        return change - p.clone() * (lr * decay) if decoupled else change
