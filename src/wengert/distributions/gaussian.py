"""Normal distributions of vectors, with a full covariance or one of low rank and a diagonal."""

from __future__ import annotations

import math
from typing import Any

from .. import broadcast_shapes, broadcast_tensors, cholesky_inverse, diag_embed, eye, flip, linalg
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal", "MultivariateNormal"]

_MATRICES = ("covariance_matrix", "precision_matrix", "scale_tril")


def times(matrix: Any, vector: Any) -> Any:
    """Matrices by vectors, both in batches."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def log_diagonal(factor: Any) -> Any:
    """The logarithm of the determinant of triangular matrices."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def mahalanobis(factor: Any, x: Any) -> Any:
    """``x' (L L')^-1 x`` for triangular ``L``: ``(..., n, n), (..., n) -> (...)``; the batch of ``x`` may be larger.

    Each matrix solves for all its vectors at once: dimensions of ``x`` over which it repeats become columns.
    """
    n = x.size(-1)
    batch = x.shape[:-1]
    own = factor.shape[:-2]
    outer = len(batch) - len(own)
    pairs = [size for mine, size in zip(own, batch[outer:]) for size in (size // mine, mine)]
    x = x.reshape((*batch[:outer], *pairs, n))
    last = outer + 2 * len(own)
    repeated, shared = (*range(outer), *range(outer, last, 2)), tuple(range(outer + 1, last, 2))
    columns = x.permute((*shared, last, *repeated))  # (own..., n, everything that one matrix serves)
    solved = linalg.solve_triangular(factor, columns.reshape((*own, n, -1)), upper=False).pow(2).sum(-2)
    solved = solved.reshape(columns.shape[: len(own)] + columns.shape[len(own) + 1 :])
    order = (*shared, *repeated)
    return solved.permute(tuple(order.index(i) for i in range(last))).reshape(batch)


def factor_of_inverse(precision: Any) -> Any:
    """The lower Cholesky factor of the inverse of positive definite matrices."""
    reversed_factor = flip(linalg.cholesky(flip(precision, (-2, -1))), (-2, -1)).transpose(-2, -1)
    return linalg.solve_triangular(reversed_factor, eye(precision.shape[-1], dtype=precision.dtype), upper=False)


class OfCovariance(Distribution):
    """What has a covariance matrix, given by itself, its inverse, or its lower Cholesky factor, which is kept."""

    _unbroadcasted_scale_tril: Tensor
    _kept = ("_unbroadcasted_scale_tril",)

    def _take(self, name: str, matrix: Any) -> None:
        """Keep the factor of the matrix that is called ``name``."""
        factor: Any = {"scale_tril": lambda m: m, "covariance_matrix": linalg.cholesky,
            "precision_matrix": factor_of_inverse}[name]
        self._unbroadcasted_scale_tril = factor(matrix)

    def _over_batch(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape[-1:] * 2)

    @lazy_property
    def scale_tril(self) -> Any:
        return self._over_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        return self._over_batch(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        return self._over_batch(cholesky_inverse(self._unbroadcasted_scale_tril))


def only_one(refusal: type[Exception], **matrices: Any) -> tuple[str, Any]:
    """The matrix that was given, and its name; ``refusal`` unless it is one."""
    given = [(name, m) for name, m in matrices.items() if m is not None]
    if len(given) != 1:
        raise refusal("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return given[0]


class MultivariateNormal(OfCovariance):
    """Vectors of mean ``loc`` and the given ``covariance_matrix``, or its inverse, or its lower Cholesky factor
    ``scale_tril``.

    ``ValueError`` unless exactly one of the three is given; the factor is the fastest.

    >>> torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints: Any = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
    }
    support: Any = constraints.real_vector
    has_rsample = True
    loc: Tensor

    def __init__(self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
            validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = only_one(ValueError, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix,
            scale_tril=scale_tril)
        if matrix.dim() < 2:
            label = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{label} must be at least two-dimensional, with optional leading batch dimensions")
        batch = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._take(name, matrix)

    mean = mode = property(lambda self: self.loc)  # type: ignore[assignment]

    @property
    def variance(self) -> Any:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + times(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        distance = mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        each = -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance)
        return each - log_diagonal(self._unbroadcasted_scale_tril)

    def entropy(self) -> Any:
        each = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_diagonal(self._unbroadcasted_scale_tril)
        return each.expand(self._batch_shape) if self._batch_shape else each


class LowRankMultivariateNormal(Distribution):
    """Vectors of covariance ``W W' + diag(D)``: ``cov_factor`` is W, ``(..., n, r)``, and ``cov_diag`` is D.

    Nothing of size ``n x n`` is factorised: all goes through the *capacitance* ``I + W' D^-1 W``, of size ``r x r``.
    """

    arg_constraints: Any = {
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support: Any = constraints.real_vector
    has_rsample = True
    _kept = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")
    loc: Tensor

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            loc_column, self.cov_factor, diag_column = broadcast_tensors(loc.unsqueeze(-1), cov_factor,
                cov_diag.unsqueeze(-1))
        except RuntimeError as e:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from e
        self.loc, self.cov_diag = loc_column[..., 0], diag_column[..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = linalg.cholesky(_plus_one(self._scaled() @ cov_factor))
        super().__init__(self.loc.shape[:-1], event, validate_args=validate_args)

    def _scaled(self) -> Any:
        """``W' D^-1``."""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    def _log_det(self) -> Any:
        return 2 * log_diagonal(self._capacitance_tril) + self._unbroadcasted_cov_diag.log().sum(-1)

    def _distance(self, x: Any) -> Any:
        """``x' covariance^-1 x``, by the Woodbury identity."""
        inner = mahalanobis(self._capacitance_tril, times(self._scaled(), x))
        return (x.pow(2) / self._unbroadcasted_cov_diag).sum(-1) - inner

    def _reduction(self) -> Any:
        """``A`` with ``covariance^-1 = D^-1 - A' A``."""
        return linalg.solve_triangular(self._capacitance_tril, self._scaled(), upper=False)

    mean = mode = property(lambda self: self.loc)  # type: ignore[assignment]

    @lazy_property
    def variance(self) -> Any:
        each = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return each.expand(self._batch_shape + self._event_shape)

    def _over_batch(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        w = self._unbroadcasted_cov_factor / root
        return self._over_batch(root * linalg.cholesky(_plus_one(w @ w.mT)))

    @lazy_property
    def covariance_matrix(self) -> Any:
        w = self._unbroadcasted_cov_factor
        return self._over_batch(w @ w.mT + diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self) -> Any:
        a = self._reduction()
        return self._over_batch(diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - a.mT @ a)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        shared = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc.dtype, self.loc.device)
        own = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + times(self._unbroadcasted_cov_factor, shared) + self._unbroadcasted_cov_diag.sqrt() * own

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + self._log_det() + self._distance(value - self.loc))

    def entropy(self) -> Any:
        each = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return each.expand(self._batch_shape) if self._batch_shape else each


def _plus_one(matrix: Any) -> Any:
    return matrix + eye(matrix.size(-1), dtype=matrix.dtype)


# By PyTorch's names, for libraries that reach for them.
_batch_mv, _batch_mahalanobis, _precision_to_scale_tril = times, mahalanobis, factor_of_inverse
