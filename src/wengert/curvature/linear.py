"""The base of the operators: SciPy's ``LinearOperator`` over a problem, symmetric, one column at a time per batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .scipy_names import LinearOperator

if TYPE_CHECKING:
    from ..tensor import Tensor
    from .problem import Problem

COLUMNS = 256  # of the identity that to_dense multiplies with at a time


class SymmetricOperator(LinearOperator):
    """An operator of parameters; a subclass defines ``_products``, of the rows of a real matrix."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._vectors = problem.vectors
        super().__init__(self._vectors.dtype, (self._vectors.size, self._vectors.size))

    @property
    def params(self) -> list[Tensor]:
        """The parameters that a vector is made of, in order."""
        return list(self._vectors.params)

    def to_dense(self) -> np.ndarray:
        """The matrix itself, as an array: for models of a few thousand parameters.

        >>> layer = torch.nn.Linear(2, 1, bias=False)
        >>> data = [(torch.eye(2), torch.zeros(2, 1))]
        >>> torch.curvature.Hessian(layer, torch.nn.MSELoss(reduction="sum"), data).to_dense()
        array([[2., 0.],
               [0., 2.]], dtype=float32)
        """
        n = self.shape[0]
        found = np.empty(self.shape, self.dtype)
        for start in range(0, n, COLUMNS):
            stop = min(start + COLUMNS, n)
            rows = np.zeros((stop - start, n), self.dtype)
            rows[np.arange(stop - start), np.arange(start, stop)] = 1
            found[:, start:stop] = self._products(rows).T
        return found

    def _matvec(self, x: Any) -> np.ndarray:
        return self._of_columns(np.asarray(x).reshape(-1, 1)).reshape(-1)

    def _matmat(self, X: Any) -> np.ndarray:
        return self._of_columns(np.asarray(X))

    def _rmatvec(self, x: Any) -> np.ndarray:
        return self._matvec(x)

    def _rmatmat(self, X: Any) -> np.ndarray:
        return self._matmat(X)

    def _adjoint(self) -> SymmetricOperator:
        return self

    _transpose = _adjoint

    def _of_columns(self, columns: np.ndarray) -> np.ndarray:
        if np.iscomplexobj(columns):
            return self._of_columns(columns.real) + 1j * self._of_columns(columns.imag)
        return self._products(np.require(columns.T, self.dtype, ["C", "W"])).T

    def _products(self, rows: np.ndarray) -> np.ndarray:
        """The products with each of some vectors."""
        raise NotImplementedError
