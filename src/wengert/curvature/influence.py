"""What the loss of one example owes to another: influence functions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tensor.backward import grad
from .arrays import array_of
from .derivatives import Pushed
from .estimators import NUMBERS, square
from .operators import GGN
from .problem import Problem, length, pair_of
from .solvers import conjugate_gradients

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SOLVERS = ("cg", "dense")


def influence(model: Any, loss: Any, train: Any, test: Any, params: Any = None, *, matrix: Any = None,
        damping: float = 1e-3, solver: str = "cg") -> np.ndarray:
    """By how much the loss of each test example would change, per weight, if each training example counted more:
    ``-g_testᵀ (M + damping·I)⁻¹ g_train`` at ``[train, test]``.

    ``g`` are the gradients of an example's own loss, summed over its terms; examples are counted along the first
    dimension of ``x``. ``M`` is the ``GGN`` of the training data, or ``matrix``: another operator, of which a
    ``KFAC`` has its inverse used. ``solver="dense"`` forms the matrix.

    Koh and Liang, "Understanding Black-box Predictions via Influence Functions", 2017.

    >>> layer = torch.nn.Linear(1, 1, bias=False)
    >>> _ = torch.nn.init.ones_(layer.weight)
    >>> train = [(torch.tensor([[1.0], [2.0]]), torch.tensor([[0.0], [2.0]]))]
    >>> test = [(torch.tensor([[1.0]]), torch.tensor([[2.0]]))]
    >>> torch.curvature.influence(layer, torch.nn.MSELoss(reduction="sum"), train, test, damping=0.0)
    array([[0.4],
           [0. ]], dtype=float32)
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver is {' or '.join(map(repr, SOLVERS))}, not {solver!r}")
    of_train = Problem(model, loss, train, params, None)
    of_test = Problem(model, loss, test, of_train.params, None)
    if matrix is None:
        matrix = GGN(model, loss, train, of_train.params)
    solve = _solution(matrix, damping, solver, of_train.vectors.size)
    counts = [sum(length(pair_of(pair)[0]) for pair in problem.data) for problem in (of_train, of_test)]
    swapped = counts[0] < counts[1]  # the matrix is symmetric: solve for what is less
    few, many = (of_train, of_test) if swapped else (of_test, of_train)
    found = np.concatenate([_against(many, solve(rows)) for rows in _gradients(few)], 1)
    return 0 - (found.T if swapped else found)


def _solution(matrix: Any, damping: float, solver: str, size: int) -> Callable[[np.ndarray], np.ndarray]:
    """What multiplies rows with ``(M + damping·I)⁻¹``."""
    A = square(matrix)
    if A.shape[0] != size:
        raise ValueError(f"the matrix has the shape {A.shape}, and there are {size} parameters")
    if hasattr(matrix, "inverse"):
        inverse = matrix.inverse(damping)
        return lambda rows: inverse.matmat(rows.T).T
    if solver == "dense":
        dense = A.matmat(np.eye(size, dtype=A.dtype)) + damping * np.eye(size, dtype=A.dtype)
        return lambda rows: np.linalg.solve(dense, rows.T).T

    def solve(rows: np.ndarray) -> np.ndarray:
        tolerance = 64 * float(np.finfo(rows.dtype).eps)
        found, done = conjugate_gradients(lambda r: A.matmat(r.T).T + rows.dtype.type(damping) * r, rows, tolerance,
            10 * size)
        if not done:
            warnings.warn("conjugate gradients have not converged: a larger damping helps", stacklevel=4)
        return found

    return solve


def _gradients(problem: Problem) -> Iterator[np.ndarray]:
    """The gradients of examples, some rows at a time."""
    rows: list[np.ndarray] = []
    many = max(1, min(32, NUMBERS // problem.vectors.size))
    for terms in problem.examples():
        rows.append(problem.vectors.joined(grad(terms.summed(terms.rows), problem.params, allow_unused=True)))
        if len(rows) == many:
            yield np.stack(rows)
            rows = []
    if rows:
        yield np.stack(rows)


def _against(problem: Problem, rows: np.ndarray) -> np.ndarray:
    """The products of all examples' gradients with some vectors, as columns; no gradient is formed."""
    found = []
    for terms, x in problem.batches():
        n, gradient, push = length(x), terms.gradient(), Pushed(terms.rows, problem.params)
        if gradient.shape[0] % n:
            raise ValueError(f"the output has {gradient.shape[0]} rows, which {n} examples cannot share")
        columns = []
        for row in rows:
            pushed = push(problem.vectors.split(row))
            columns.append(np.zeros(n, rows.dtype) if pushed is None
                else array_of((gradient * pushed).reshape(n, -1).sum(1)))
        found.append(np.stack(columns, 1))
    return np.concatenate(found)
