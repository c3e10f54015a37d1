"""Distributions of matrices: Cholesky factors of correlations, and covariances."""

from __future__ import annotations

import math
import warnings
from math import nan
from typing import Any

from .. import arange, broadcast_shapes, cat, eye, finfo, linalg, randn, tril_indices, where
from ..functions.creation import tensor
from ..graph.modes import no_grad
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .gaussian import OfCovariance, log_diagonal, only_one
from .positive import Chi2
from .simplex import Beta
from .utils import Number, broadcast_all, lazy_property

__all__ = ["LKJCholesky", "Wishart"]

_LOG_2 = math.log(2)


class LKJCholesky(Distribution):
    """Cholesky factors of ``dim x dim`` matrices of correlations, of density in proportion to
    ``det**(concentration - 1)``.

    Samples by the onion method of Lewandowski, Kurowicka and Joe (2009).
    """

    arg_constraints: Any = {"concentration": constraints.positive}
    support: Any = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        row = arange(dim - 1, dtype=self.concentration.dtype)
        row = cat([row.new_zeros((1,)), row])
        self._beta = Beta(row + 0.5, (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * row)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        """Row by row: a length from a beta distribution, a direction from the sphere, and the diagonal what is left."""
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        direction = randn(self._extended_shape(sample_shape), dtype=y.dtype).tril(-1)
        direction = direction / direction.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)
        below = y.sqrt() * direction
        return below + (1 - (below**2).sum(-1)).clamp(min=finfo(y.dtype).tiny).sqrt().diag_embed()

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - arange(2, self.dim + 1)
        density = (order * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()).sum(-1)
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        return density - (0.5 * less * math.log(math.pi) + (alpha - 0.5).mvlgamma(less) - alpha.lgamma() * less)


class Wishart(OfCovariance, ExponentialFamily):
    """Sums of ``df`` squares of normal vectors of a covariance, its inverse or its Cholesky factor; ``df`` is real."""

    support: Any = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0  # type: ignore[assignment]
    df: Tensor

    @property
    def arg_constraints(self) -> Any:
        return {
            "covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
            validate_args: bool | None = None) -> None:
        name, matrix = only_one(AssertionError, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix,
            scale_tril=scale_tril)
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        size = matrix.shape[-1]
        batch = Size(matrix.shape[:-2])
        if not isinstance(df, Number):
            batch = broadcast_shapes(batch, df.shape)
        self.df = tensor(df, dtype=matrix.dtype) if isinstance(df, Number) else df.expand(batch)
        if (self.df <= size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        if (self.df < size).any():
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < "
                "ndim.", stacklevel=2)
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        self._take(name, matrix)
        each = arange(size, dtype=matrix.dtype).expand((*batch, -1))
        self._dist_chi2 = Chi2(df=self.df.unsqueeze(-1) - each)

    _batch_dims = property(lambda self: [-(i + 1) for i in range(len(self._batch_shape))])

    @lazy_property
    def precision_matrix(self) -> Any:
        factor = self._unbroadcasted_scale_tril
        return self._over_batch(eye(self._event_shape[-1], dtype=factor.dtype).cholesky_solve(factor))

    def _scaled(self, factor: Any) -> Any:
        return factor.view((*self._batch_shape, 1, 1))

    mean = property(lambda self: self._scaled(self.df) * self.covariance_matrix)  # type: ignore[assignment]

    @property
    def mode(self) -> Any:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return self._scaled(where(factor <= 0, nan, factor)) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        v = self.covariance_matrix
        d = v.diagonal(dim1=-2, dim2=-1)
        return self._scaled(self.df) * (v.pow(2) + d.unsqueeze(-1) * d.unsqueeze(-2))

    def _bartlett(self, sample_shape: Any) -> Any:
        """Bartlett's decomposition: chi on the diagonal, normal numbers below."""
        p = self._event_shape[-1]
        chi = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = chi.clamp(min=finfo(chi.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        i, j = tril_indices(p, p, offset=-1)
        noise[..., i, j] = randn(Size((*sample_shape, *self._batch_shape, p * (p - 1) // 2)), dtype=noise.dtype)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.transpose(-2, -1)

    def rsample(self, sample_shape: Any = Size(), max_try_correction: int | None = None) -> Any:  # noqa: B008
        """Draws; as PyTorch does, those that pass the test of the support are drawn again, up to ``max_try_correction``
        (10) times.
        """
        sample = self._bartlett(Size(sample_shape))
        again = self.support.check(sample)  # it means the negation, and so draws all of them again
        if self._batch_shape:
            again = again.amax(self._batch_dims)
        if again.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(10 if max_try_correction is None else max_try_correction):
                fresh = self._bartlett(again[again].shape)
                sample[again] = fresh
                still = ~self.support.check(fresh)
                if self._batch_shape:
                    still = still.amax(self._batch_dims)
                again[again.clone()] = still
                if not again.any():
                    break
        return sample

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        with no_grad():
            return self.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        nu, p, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = value.cholesky_solve(factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        determinant = linalg.slogdet(value).logabsdet
        norm = -nu * (p * _LOG_2 / 2 + log_diagonal(factor)) - (nu / 2).mvlgamma(p)
        return norm + (nu - p - 1) / 2 * determinant - trace / 2

    def entropy(self) -> Any:
        nu, p = self.df, self._event_shape[-1]
        half = nu / 2
        if not (half > (p - 1) / 2).all():
            raise AssertionError("Wrong domain for multivariate digamma function.")
        slope = (half.unsqueeze(-1) - arange(p, dtype=half.dtype) / 2).digamma().sum(-1)
        norm = (p + 1) * (p * _LOG_2 / 2 + log_diagonal(self._unbroadcasted_scale_tril)) + half.mvlgamma(p)
        return norm - (nu - p - 1) / 2 * slope + nu * p / 2

    @property
    def _natural_params(self) -> Any:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:  # type: ignore[override]
        p = self._event_shape[-1]
        count = y + (p + 1) / 2
        return count * (-linalg.slogdet(-2 * x).logabsdet + _LOG_2 * p) + count.mvlgamma(p)
