"""Distributions on the positive half line."""

from __future__ import annotations

from math import nan
from typing import Any

from .. import _standard_gamma, finfo, special, where
from .. import as_tensor as as_a_tensor
from ..functions.creation import empty
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution, ExponentialFamily

__all__ = ["Chi2", "Exponential", "FisherSnedecor", "Gamma"]


class Exponential(ExponentialFamily):
    """Waiting times at a ``rate``."""

    arg_constraints: Any = {"rate": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0  # type: ignore[assignment]
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._begin(validate_args, rate=rate)

    mean = stddev = property(lambda self: self.rate.reciprocal())  # type: ignore[assignment]
    mode = property(lambda self: self.rate.new_zeros(self.rate.shape))  # type: ignore[assignment]
    variance = property(lambda self: self.rate.pow(-2))  # type: ignore[assignment]

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        return empty(self._extended_shape(sample_shape), dtype=self.rate.dtype).exponential_() / self.rate

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Any) -> Any:
        self._checked(value)
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Any) -> Any:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Any:
        return 1.0 - self.rate.log()

    _natural_params = property(lambda self: (-self.rate,))  # type: ignore[assignment]

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return -(-x).log()


class Gamma(ExponentialFamily):
    """The gamma distribution of shape ``concentration`` and ``rate``. Samples carry the derivative at a fixed quantile.

    >>> torch.distributions.Gamma(2.0, 4.0).mean
    tensor(0.5000)
    """

    arg_constraints: Any = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0  # type: ignore[assignment]
    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._begin(validate_args, concentration=concentration, rate=rate)

    mean = property(lambda self: self.concentration / self.rate)  # type: ignore[assignment]
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))  # type: ignore[assignment]
    variance = property(lambda self: self.concentration / self.rate.pow(2))  # type: ignore[assignment]

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)  # so that logarithms are finite; not recorded
        return value

    def log_prob(self, value: Any) -> Any:
        value = self._checked(as_a_tensor(value, dtype=self.rate.dtype))
        a = self.concentration
        return a.xlogy(self.rate) + (a - 1).xlogy(value) - self.rate * value - a.lgamma()

    def cdf(self, value: Any) -> Any:
        self._checked(value)
        return special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Any:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()

    _natural_params = property(lambda self: (self.concentration - 1, -self.rate))  # type: ignore[assignment]

    def _log_normalizer(self, x: Any, y: Any) -> Any:  # type: ignore[override]
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()


class Chi2(Gamma):
    """Sums of ``df`` squared normal numbers."""

    arg_constraints: Any = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Any:
        return self.concentration * 2


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared numbers, each over its degrees of freedom."""

    arg_constraints: Any = {"df1": constraints.positive, "df2": constraints.positive}
    support: Any = constraints.positive
    has_rsample = True
    df1: Tensor
    df2: Tensor

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self._begin(validate_args, df1=df1, df2=df2)
        self._gamma1, self._gamma2 = Gamma(self.df1 * 0.5, self.df1), Gamma(self.df2 * 0.5, self.df2)

    @property
    def mean(self) -> Any:
        df2 = where(self.df2 <= 2, nan, self.df2)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Any:
        return where(self.df1 <= 2, nan, (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2))

    @property
    def variance(self) -> Any:
        df2 = where(self.df2 <= 4, nan, self.df2)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        x1, x2 = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        tiny = finfo(x2.dtype).tiny
        return (x1 / x2.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        h1, h2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        norm = (h1 + h2).lgamma() - h1.lgamma() - h2.lgamma()
        return norm + h1 * ratio.log() + (h1 - 1) * value.log() - (h1 + h2) * (ratio * value).log1p()
