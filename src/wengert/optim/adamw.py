"""AdamW: Adam with decoupled weight decay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .adam import Adam

if TYPE_CHECKING:
    from wengert.tensor import Tensor

    from .optimizer import ParamsT

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters directly: ``p *= 1 - lr * weight_decay``.

    Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.AdamW([w], lr=0.1, weight_decay=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8900], requires_grad=True)
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3,
            betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
            amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None, capturable: bool = False,
            differentiable: bool = False, fused: bool | None = None) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
            capturable=capturable, differentiable=differentiable, fused=fused, decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # whatever was loaded, this is AdamW
            group["decoupled_weight_decay"] = True
