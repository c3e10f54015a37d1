"""Adam and its variants: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wengert.arrays import optim_kernels
from wengert.arrays.optim_factored import sparse_adam_update
from wengert.tensor import Tensor

from ._per_parameter import PerParameter, blended, check, decayed, number, places, scalar, zeros_like
from .optimizer import Optimizer, evaluated

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._per_parameter import Arrays, Group, Numbers, State
    from .optimizer import ParamsT

__all__ = ["Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam"]


class _Moments(PerParameter):
    """Both averages, and ``weight_decay``: added to the gradient or, decoupled, taken from the parameters."""

    _arrays = ("exp_avg", "exp_avg_sq")

    def _change(self, group: Group, p: Tensor, grad: Tensor, state: State, numbers: Numbers) -> Tensor:
        beta1, beta2 = group["betas"]
        decay, decoupled = group["weight_decay"], group["decoupled_weight_decay"]
        if not decoupled:
            grad = decayed(p, grad, decay)
        state["exp_avg"] = blended(state["exp_avg"], grad, 1 - beta1)
        state["exp_avg_sq"] = state["exp_avg_sq"] * beta2 + grad * grad * (1 - beta2)
        change = self._scaled(group, grad, state, numbers)
        return change - p.clone() * (scalar(group["lr"]) * decay) if decoupled else change

    def _scaled(self, group: Group, grad: Tensor, state: State, numbers: Numbers) -> Tensor:
        """The change but for a decoupled decay."""
        raise NotImplementedError


class Adam(_Moments):
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

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3,
            betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
            amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
            differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: bool = False) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check(lr=lr, epsilon=eps, betas=betas, weight_decay=weight_decay)
        kinds = [Tensor if isinstance(b, Tensor) else float if isinstance(b, float) else None for b in betas]
        if None in kinds or kinds[0] is not kinds[1]:
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                if foreach and not capturable:
                    raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{i}] must be 1-element")
        super().__init__(params, dict(lr=lr, betas=tuple(map(scalar, betas)), eps=eps, weight_decay=weight_decay,
            amsgrad=amsgrad, maximize=maximize, foreach=foreach, capturable=capturable, differentiable=differentiable,
            fused=fused, decoupled_weight_decay=decoupled_weight_decay))

    def _buffers(self, group: Group) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else self._arrays

    def _update(self, group: Group, numbers: Numbers, *columns: Arrays) -> None:
        if group["foreach"] and isinstance(group["lr"], Tensor) and not group["capturable"]:
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
        beta1, beta2 = group["betas"]
        optim_kernels.adam_update(*columns, step=numbers[0], lr=number(group["lr"]), beta1=number(beta1),
            beta2=number(beta2), eps=group["eps"], weight_decay=number(group["weight_decay"]),
            decoupled=group["decoupled_weight_decay"], maximize=group["maximize"])

    def _scaled(self, group: Group, grad: Tensor, state: State, numbers: Numbers) -> Tensor:
        (beta1, beta2), (step,), square = group["betas"], numbers, state["exp_avg_sq"]
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = square = state["max_exp_avg_sq"].maximum(square)
        spread = square.sqrt() / (1 - beta2**step) ** 0.5 + group["eps"]
        return state["exp_avg"] / spread * (-scalar(group["lr"]) / (1 - beta1**step))


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


class NAdam(_Moments):
    """NAdam: Adam with Nesterov momentum, whose strength ``mu`` grows over the steps.

    Dozat, "Incorporating Nesterov Momentum into Adam", 2016.
    """

    _scalars = {"step": 0.0, "mu_product": 1.0}

    def __init__(self, params: ParamsT, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
            decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
            capturable: bool = False, differentiable: bool = False) -> None:
        check(lr=lr, epsilon=eps, betas=betas, weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
            momentum_decay=momentum_decay, decoupled_weight_decay=decoupled_weight_decay, maximize=maximize,
            foreach=foreach, capturable=capturable, differentiable=differentiable))

    @staticmethod
    def _momenta(group: Group, numbers: Numbers) -> tuple[float, float, float]:
        """The momentum of this step, that of the next, and the product of all so far, rounded as the state is."""
        beta1, slowness, step = group["betas"][0], group["momentum_decay"], numbers[0]
        mu, following = (beta1 * (1.0 - 0.5 * (0.96 ** (t * slowness))) for t in (step, step + 1))
        return mu, following, float(numbers[1] * mu)

    def _update(self, group: Group, numbers: Numbers, *columns: Arrays) -> Numbers:
        mu, mu_next, mu_product = self._momenta(group, numbers)
        beta1, beta2 = group["betas"]
        optim_kernels.nadam_update(*columns, step=numbers[0], lr=number(group["lr"]), beta1=beta1, beta2=beta2,
            eps=group["eps"], mu=mu, mu_next=mu_next, mu_product=mu_product, weight_decay=group["weight_decay"],
            decoupled=group["decoupled_weight_decay"], maximize=group["maximize"])
        return (mu_product,)

    def _scaled(self, group: Group, grad: Tensor, state: State, numbers: Numbers) -> Tensor:
        mu, mu_next, mu_product = self._momenta(group, numbers)
        state["mu_product"].fill_(mu_product)
        along = grad * ((1.0 - mu) / (1.0 - mu_product)) + state["exp_avg"] * (mu_next / (1.0 - mu_product * mu_next))
        spread = (state["exp_avg_sq"] / (1 - group["betas"][1] ** numbers[0])).sqrt() + group["eps"]
        return along / spread * -scalar(group["lr"])


class RAdam(_Moments):
    """RAdam: Adam that warms up by itself, from plain momentum, while its second moment is uncertain.

    Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", 2020.
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
            foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
            differentiable: bool = False) -> None:
        check(lr=lr, epsilon=eps, betas=betas, weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize,
            foreach=foreach, capturable=capturable, decoupled_weight_decay=decoupled_weight_decay,
            differentiable=differentiable))

    def _update(self, group: Group, numbers: Numbers, *columns: Arrays) -> None:
        beta1, beta2 = group["betas"]
        optim_kernels.radam_update(*columns, step=numbers[0], lr=number(group["lr"]), beta1=beta1, beta2=beta2,
            eps=group["eps"], weight_decay=group["weight_decay"], decoupled=group["decoupled_weight_decay"],
            maximize=group["maximize"])

    def _scaled(self, group: Group, grad: Tensor, state: State, numbers: Numbers) -> Tensor:
        (beta1, beta2), (step,) = group["betas"], numbers
        change = state["exp_avg"] / (1 - beta1**step) * -scalar(group["lr"])
        rectification = optim_kernels.radam_rectification(step, beta2)
        if rectification is None:
            return change
        return change / (state["exp_avg_sq"].sqrt() + group["eps"]) * ((1 - beta2**step) ** 0.5 * rectification)


class Adamax(PerParameter):
    """Adamax: Adam with a decayed maximum in place of the second moment.

    Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, section 7.1.
    """

    _arrays = ("exp_avg", "exp_inf")

    def __init__(self, params: ParamsT, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
            eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
            differentiable: bool = False, capturable: bool = False) -> None:
        check(lr=lr, epsilon=eps, betas=betas, weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach,
            maximize=maximize, differentiable=differentiable, capturable=capturable))

    def _update(self, group: Group, numbers: Numbers, *columns: Arrays) -> None:
        beta1, beta2 = group["betas"]
        optim_kernels.adamax_update(*columns, step=numbers[0], lr=number(group["lr"]), beta1=beta1, beta2=beta2,
            eps=group["eps"], weight_decay=group["weight_decay"], maximize=group["maximize"])

    def _change(self, group: Group, p: Tensor, grad: Tensor, state: State, numbers: Numbers) -> Tensor:
        beta1, beta2 = group["betas"]
        grad = decayed(p, grad, group["weight_decay"])
        state["exp_avg"] = mean = blended(state["exp_avg"], grad, 1 - beta1)
        state["exp_inf"] = largest = (state["exp_inf"] * beta2).maximum(grad.abs() + group["eps"])
        return mean / largest * (-scalar(group["lr"]) / (1 - beta1 ** numbers[0]))


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
        check(betas=betas)
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
        loss = None if closure is None else evaluated(closure)
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
