"""Optimizers that divide by curvature: Newton's method with conjugate gradients, and natural gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.graph import get_gradient_edge
from ..graph import enable_grad, no_grad
from ..optim.optimizer import Optimizer, evaluated
from ..tensor.backward import grad
from .derivatives import Pushed
from .losses import Loss
from .problem import Vectors, called, chosen
from .solvers import conjugate_gradients

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..nn.modules.module import Module
    from ..tensor import Tensor
    from .losses import Terms

ITERATIONS = 500  # of the solution for a natural gradient, at most


class _Curved(Optimizer):
    """An optimizer whose step is ``lr`` times a vector for all parameters."""

    def _move(self, params: list[Tensor], vectors: Vectors, direction: np.ndarray) -> None:
        rates = {id(p): group["lr"] for group in self.param_groups for p in group["params"]}
        with no_grad():
            for p, d in zip(params, vectors.split(direction)):
                p.sub_(d * rates[id(p)])


class NewtonCG(_Curved):
    """Newton's method: a step of ``lr`` times ``(H + damping·I)⁻¹ g``, by at most ``max_cg`` conjugate gradients.

    They end when the residual is ``tol`` times the gradient, or where the curvature is not positive: the step is a
    descent at any rate. ``step(closure)`` calls the closure once; it returns the loss, and calls no ``backward``. No
    ``.grad`` is touched.

    Martens, "Deep learning via Hessian-free optimization", 2010.

    >>> w = torch.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = torch.curvature.NewtonCG([w])
    >>> optimizer.step(lambda: (w[0] ** 2 + 10 * (w[1] - 1) ** 2))
    tensor(99.)
    >>> w
    tensor([0.0000, 1.0000], requires_grad=True)
    """

    def __init__(self, params: Any, lr: float = 1.0, *, damping: float = 0.0, max_cg: int = 50,
            tol: float = 1e-4) -> None:
        _check(lr, damping)
        if max_cg < 1:
            raise ValueError(f"Invalid max_cg value: {max_cg}")
        super().__init__(params, {"lr": lr, "damping": damping, "max_cg": max_cg, "tol": tol})

    def step(self, closure: Callable[[], Tensor]) -> Tensor:  # type: ignore[override]
        """One step; returns the loss before it."""
        options = self.param_groups[0]
        params = [p for group in self.param_groups for p in group["params"] if p.requires_grad]
        loss = evaluated(closure)
        if not params:
            return loss.detach()
        vectors = Vectors(params)
        with enable_grad():
            slopes = grad(loss, params, create_graph=True, allow_unused=True)
        used = [i for i, s in enumerate(slopes) if s is not None and s.requires_grad]
        row, gradient = [get_gradient_edge(slopes[i]) for i in used], vectors.joined(slopes)
        damping = gradient.dtype.type(options["damping"])

        def product(rows: np.ndarray) -> np.ndarray:
            found = damping * rows
            if used:
                v = vectors.split(rows[0])
                vectors.add(found[0], grad(row, params, [v[i] for i in used], retain_graph=True, allow_unused=True))
            return found

        direction, _ = conjugate_gradients(product, gradient[None], options["tol"], options["max_cg"], descent=True)
        self._move(params, vectors, direction[0])
        return loss.detach()


class NaturalGradient(_Curved):
    """Natural gradients: a step of ``lr`` times ``(F + damping·I)⁻¹ g``, with the Fisher matrix of the batch.

    ``matrix``: the exact ``fisher``, by conjugate gradients, or its ``kfac`` approximation, by the inverses of small
    matrices. ``step((x, y))`` computes the loss of the batch and returns it. No ``.grad`` is touched.

    Amari, "Natural Gradient Works Efficiently in Learning", 1998.

    >>> layer = torch.nn.Linear(1, 1, bias=False)
    >>> optimizer = torch.curvature.NaturalGradient(layer, torch.nn.MSELoss(), damping=0.0)
    >>> _ = optimizer.step((torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [6.0]])))
    >>> round(layer.weight.item(), 4)
    3.0
    """

    def __init__(self, model: Module, loss: Any, lr: float = 1.0, *, damping: float = 1e-3,
            matrix: str = "fisher") -> None:
        _check(lr, damping)
        if matrix not in ("fisher", "kfac"):
            raise ValueError(f"matrix is 'fisher' or 'kfac', not {matrix!r}")
        self.model, self.loss, self.matrix, self._loss = model, loss, matrix, Loss(loss, None)
        super().__init__(chosen(model, None), {"lr": lr, "damping": damping})

    def step(self, batch: Sequence[Any]) -> Tensor:  # type: ignore[override]
        """One step on a batch; returns its loss before it."""
        x, y = batch
        params = [p for group in self.param_groups for p in group["params"] if p.requires_grad]
        vectors, damping = Vectors(params), self.param_groups[0]["damping"]
        with enable_grad():
            terms = self._loss.terms(called(self.model, x), y)
            value = terms.summed(terms.rows)
        count = terms.count() if self._loss.mean else 1.0
        gradient = vectors.joined(grad(value, params, retain_graph=True, allow_unused=True)) / vectors.dtype.type(count)
        if self.matrix == "kfac":
            from .kfac import KFAC

            direction = KFAC(self.model, self.loss, [(x, y)], params).inverse(damping) @ gradient
        else:
            direction = self._solved(terms, vectors, gradient, count, damping)
        self._move(params, vectors, direction)
        return value.detach() / count

    @enable_grad()
    def _solved(self, terms: Terms, vectors: Vectors, gradient: np.ndarray, count: float, damping: float) -> np.ndarray:
        """``(F + damping·I)⁻¹ g``; the graph of the batch serves every product."""
        middle, push = terms.curvature(fisher=True), Pushed(terms.rows, vectors.params)

        def product(rows: np.ndarray) -> np.ndarray:
            found = rows * rows.dtype.type(damping)
            pushed = push(vectors.split(rows[0]))
            if pushed is not None:
                vectors.add(found[0], grad(terms.rows, push.params, middle(pushed), retain_graph=True,
                    allow_unused=True), 1 / count)
            return found

        tolerance = float(np.finfo(gradient.dtype).eps) ** (2 / 3)
        return conjugate_gradients(product, gradient[None], tolerance, ITERATIONS, descent=True)[0][0]


def _check(lr: float, damping: float) -> None:
    if not lr >= 0:
        raise ValueError(f"Invalid learning rate: {lr}")
    if not damping >= 0:
        raise ValueError(f"Invalid damping value: {damping}")
