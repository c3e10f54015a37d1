"""The Hessian, the generalised Gauss–Newton matrix and the Fisher matrices, as operators.

A product goes through the data once. For each batch the model runs once, whatever the number of vectors; then each
vector costs one more walk (Hessian) or two (the others), and the graph is dropped before the next batch. That of a
small problem of one batch is kept (``kept``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph import enable_grad
from ..tensor.backward import grad
from .derivatives import Pulled, Pushed
from .kept import Kept, allocated
from .linear import SymmetricOperator
from .problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..tensor import Tensor
    from .losses import Terms

    Product = Callable[[list[Tensor], bool], Iterable[Any]]

KINDS = ("exact", "sampled", "empirical")


class _Streamed(SymmetricOperator):
    """A matrix that is a sum over batches, divided by what the loss divides by."""

    def __init__(self, model: Any, loss: Any, data: Any, params: Any = None, *, reduction: str | None = None) -> None:
        super().__init__(Problem(model, loss, data, params, reduction))
        self._kept = Kept()

    def _products(self, rows: np.ndarray) -> np.ndarray:
        kept = self._kept.found()
        if kept is None:
            return self._through(rows)
        with enable_grad():
            return self._entered(None, rows, kept, False)

    def _through(self, rows: np.ndarray) -> np.ndarray:
        """Products by a pass through the data; the graph of a small only batch is kept from the second on."""
        found, count, mean = None, 0.0, self._problem.loss.mean
        whole, before = self._problem.whole, allocated()
        state = self._kept.noted(self._problem) if whole else None
        self._begin()
        for terms, _ in self._problem.batches():
            if mean:
                here = terms.count()
                count += here
                if whole and here:
                    terms.share, count = 1 / here, 1.0
            product = self._prepared(terms)
            found = self._entered(found, rows, product, state is None)
            if state is not None and count in (0, 1):
                self._kept.keep(state, product, allocated() - before - found.nbytes)
            del terms, product
        if mean and count != 1:
            np.divide(found, count, out=found)  # type: ignore[arg-type]
        return found  # type: ignore[return-value]

    def _entered(self, found: np.ndarray | None, rows: np.ndarray, product: Product, ends: bool) -> np.ndarray:
        """The products with a batch, added to those ``found`` before; ``ends``: the graph is not needed after them.

        Memory for the result is taken when there is something to put there: after the first walk.
        """
        put, last = self._vectors.fill if found is None else self._vectors.add, len(rows) - 1
        for j, row in enumerate(rows):
            parts = product(self._vectors.split(row), ends and j == last)
            if found is None:
                found = np.empty_like(rows)
            put(found[j], parts)
        return found if found is not None else np.empty_like(rows)

    def _begin(self) -> None:
        """Before a pass through the data."""

    def _prepared(self, terms: Terms) -> Product:
        """The product of the sum over a batch with a vector; the second argument says that it is the last."""
        raise NotImplementedError


class Hessian(_Streamed):
    """The second derivatives of the loss over all data, by the parameters.

    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> data = [(torch.tensor([[1.0, 2.0]]), torch.zeros(1, 1)), (torch.tensor([[3.0, 1.0]]), torch.zeros(1, 1))]
    >>> H = torch.curvature.Hessian(layer, torch.nn.MSELoss(reduction="sum"), data)
    >>> H @ [1.0, 0.0]
    array([20., 10.], dtype=float32)
    """

    def _prepared(self, terms: Terms) -> Product:
        params = self._vectors.params
        value, seed = terms.release()
        slopes = grad(value, params, seed, create_graph=True, allow_unused=True) if value.requires_grad else []
        used = [i for i, s in enumerate(slopes) if s is not None and s.requires_grad]
        pull = Pulled([slopes[i] for i in used], params)

        def product(column: list[Tensor], last: bool) -> Iterable[Any]:
            return pull([column[i] for i in used], last) if used else ()

        return product


class _GaussNewton(_Streamed):
    """``Jᵀ M J``, where ``J`` is the derivative of the output and ``M`` acts on each term alone.

    ``J v`` is the derivative of ``Jᵀ u`` by ``u``, and so takes a walk of the graph of a backward.
    """

    def _middle(self, terms: Terms) -> Callable[[Tensor], Tensor]:
        """The product with ``M``."""
        raise NotImplementedError

    def _prepared(self, terms: Terms) -> Product:
        rows, share = terms.rows, terms.share
        middle, push = self._middle(terms), Pushed(rows, self._vectors.params)
        pull = Pulled([rows], push.params) if push.used else None

        def product(column: list[Tensor], last: bool) -> Iterable[Any]:
            pushed = push(column, last)
            if pushed is None or pull is None:
                return ()
            return pull([middle(pushed) if share == 1 else middle(pushed) * share], last)

        return product


class GGN(_GaussNewton):
    """The generalised Gauss–Newton matrix ``c Σ Jᵀ ∇²ℓ J``: the curvature of the loss, the model taken as linear.

    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 2))
    >>> data = [(torch.ones(3, 2), torch.tensor([0, 1, 1])), (torch.zeros(1, 2), torch.tensor([0]))]
    >>> G = torch.curvature.GGN(model, torch.nn.CrossEntropyLoss(), data)
    >>> G.shape
    (12, 12)
    """

    def _middle(self, terms: Terms) -> Callable[[Tensor], Tensor]:
        return terms.curvature()


class Fisher(_GaussNewton):
    """The Fisher matrix: ``exact``, with ``samples`` targets ``sampled`` from the model for each term, or
    ``empirical``, from the gradients at the targets that the data have.

    The sampled targets are the same in every product, and however the data are cut into batches.

    >>> layer = torch.nn.Linear(1, 1, bias=False)
    >>> data = [(torch.tensor([[1.0], [2.0]]), torch.zeros(2, 1))]
    >>> torch.curvature.Fisher(layer, torch.nn.MSELoss(reduction="sum"), data).to_dense()
    array([[10.]], dtype=float32)
    """

    def __init__(self, model: Any, loss: Any, data: Any, params: Any = None, *, reduction: str | None = None,
            kind: str = "exact", samples: int = 1, seed: int = 0) -> None:
        super().__init__(model, loss, data, params, reduction=reduction)
        check_kind(kind, samples, self._problem)
        self.kind, self.samples, self.seed = kind, samples, seed

    def _begin(self) -> None:
        self._random = np.random.default_rng(self.seed)

    def _middle(self, terms: Terms) -> Callable[[Tensor], Tensor]:
        if self.kind == "exact":
            return terms.curvature(fisher=True)
        if self.kind == "empirical":
            gradient = terms.gradient()
            return lambda u: gradient * (gradient * u).sum(-1, keepdim=True)
        drawn = terms.drawn(self.samples, self._random)
        return lambda u: (drawn * (drawn * u).sum(-1, keepdim=True)).mean(0)


def check_kind(kind: str, samples: int, problem: Problem) -> None:
    """Refuse what is no kind of Fisher matrix, or has no samples to draw."""
    if kind not in KINDS:
        raise ValueError(f"kind is {', '.join(map(repr, KINDS))}, not {kind!r}")
    if kind == "sampled":
        if samples < 1:
            raise ValueError(f"samples is {samples}, and at least one is needed")
        if not problem.loss.kind.samples:
            raise ValueError("kind='sampled' draws targets from the model: the loss is CrossEntropyLoss, MSELoss, "
                "BCEWithLogitsLoss or BCELoss, or their function")
