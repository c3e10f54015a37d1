"""Distributions on the real line and on intervals of it."""

from __future__ import annotations

import math
from math import inf, nan, pi
from typing import Any

from .. import bool as boolean
from .. import finfo, float64, isclose, rand, where, zeros
from .. import normal as normal_numbers
from ..functions.creation import empty
from ..graph.modes import no_grad
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .positive import Chi2
from .utils import _standard_normal, lazy_property

__all__ = ["Cauchy", "GeneralizedPareto", "Laplace", "Normal", "StudentT", "Uniform", "VonMises"]

_LOCATED = {"loc": constraints.real, "scale": constraints.positive}


class _Located(Distribution):
    """A distribution moved by ``loc`` and stretched by ``scale``; it is highest at ``loc``."""

    arg_constraints: Any = _LOCATED
    support: Any = constraints.real
    has_rsample = True
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._begin(validate_args, loc=loc, scale=scale)

    mode = property(lambda self: self.loc)  # type: ignore[assignment]


class Normal(_Located, ExponentialFamily):
    """The normal distribution of mean ``loc`` and standard deviation ``scale``.

    >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.0))
    tensor(-0.9189)
    """

    _mean_carrier_measure = 0  # type: ignore[assignment]

    mean = property(lambda self: self.loc)  # type: ignore[assignment]
    stddev = property(lambda self: self.scale)  # type: ignore[assignment]
    variance = property(lambda self: self.stddev.pow(2))  # type: ignore[assignment]

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return normal_numbers(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + noise * self.scale

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - math.log(math.sqrt(2 * pi))

    def cdf(self, value: Any) -> Any:
        self._checked(value)
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * pi) + self.scale.log()

    @property
    def _natural_params(self) -> Any:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x: Any, y: Any) -> Any:  # type: ignore[override]
        return -0.25 * x.pow(2) / y + 0.5 * (-pi / y).log()


class Cauchy(_Located):
    """The Cauchy distribution with median ``loc`` and half width ``scale`` at half height."""

    mean = property(lambda self: self.loc.new_full(self._extended_shape(), nan))  # type: ignore[assignment]
    variance = property(lambda self: self.loc.new_full(self._extended_shape(), inf))  # type: ignore[assignment]

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        return self.loc + empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).cauchy_() * self.scale

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        return -math.log(pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: Any) -> Any:
        self._checked(value)
        return ((value - self.loc) / self.scale).atan() / pi + 0.5

    def icdf(self, value: Any) -> Any:
        return (pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Any:
        return math.log(4 * pi) + self.scale.log()


class Laplace(_Located):
    """The two-sided exponential distribution around ``loc``."""

    mean = property(lambda self: self.loc)  # type: ignore[assignment]
    variance = property(lambda self: 2 * self.scale.pow(2))  # type: ignore[assignment]
    stddev = property(lambda self: 2**0.5 * self.scale)  # type: ignore[assignment]

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        u = empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Any) -> Any:
        self._checked(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * (-away.abs() / self.scale).expm1()

    def icdf(self, value: Any) -> Any:
        away = value - 0.5
        return self.loc - self.scale * away.sign() * (-2 * away.abs()).log1p()

    def entropy(self) -> Any:
        return 1 + (2 * self.scale).log()


class StudentT(_Located):
    """Student's distribution of ``df`` degrees of freedom, shifted and scaled."""

    arg_constraints: Any = {"df": constraints.positive, **_LOCATED}
    df: Tensor

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self._begin(validate_args, df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)

    mean = property(lambda self: where(self.df <= 1, nan, self.loc))  # type: ignore[assignment]

    @property
    def variance(self) -> Any:
        finite = self.df > 2
        df = where(finite, self.df, 3.0)
        return where(finite, self.scale.pow(2) * df / (df - 2), where(self.df > 1, inf, self.df.new_full((), nan)))

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        x = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        return self.loc + self.scale * (x * (self._chi2.rsample(sample_shape) / self.df).rsqrt())

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        y = (value - self.loc) / self.scale
        half, more = 0.5 * self.df, 0.5 * (self.df + 1.0)
        norm = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(pi) + half.lgamma() - more.lgamma()
        return -more * (y**2.0 / self.df).log1p() - norm

    def entropy(self) -> Any:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + log_beta


class Uniform(Distribution):
    """Uniform on ``[low, high)``.

    >>> torch.distributions.Uniform(0.0, 2.0).cdf(torch.tensor(0.5))
    tensor(0.2500)
    """

    has_rsample = True
    low: Tensor
    high: Tensor

    @property
    def arg_constraints(self) -> Any:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._begin(validate_args, low=low, high=high)

    mean = property(lambda self: (self.high + self.low) / 2)  # type: ignore[assignment]
    mode = property(lambda self: nan * self.high)  # type: ignore[assignment]
    stddev = property(lambda self: (self.high - self.low) / 12**0.5)  # type: ignore[assignment]
    variance = property(lambda self: (self.high - self.low).pow(2) / 12)  # type: ignore[assignment]

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        return self.low + rand(self._extended_shape(sample_shape), dtype=self.low.dtype) * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value: Any) -> Any:
        self._checked(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        return (self.high - self.low).log()


class GeneralizedPareto(_Located):
    """The distribution of what exceeds ``loc``; ``concentration`` 0 is exponential, below 0 it has an upper end."""

    arg_constraints: Any = {**_LOCATED, "concentration": constraints.real}
    concentration: Tensor

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._begin(validate_args, loc=loc, scale=scale, concentration=concentration)

    def _shape_or_one(self) -> tuple[Tensor, Tensor]:
        """Where the distribution is exponential, and the concentration with 1 there."""
        exponential = isclose(self.concentration, self.concentration.new_zeros(()))
        return exponential, where(exponential, 1.0, self.concentration)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        z = (value - self.loc) / self.scale
        exponential, c = self._shape_or_one()
        power = 1 / c + z.new_ones(z.shape)
        return -self.scale.log() - where(exponential, z, where(power == 0, power, power * (c * z).log1p()))

    def log_survival_function(self, value: Any) -> Any:
        """``log(1 - cdf(value))``."""
        self._checked(value)
        z = (value - self.loc) / self.scale
        exponential, c = self._shape_or_one()
        return where(exponential, -z, -(c * z).log1p() / c)

    def log_cdf(self, value: Any) -> Any:
        """``log(cdf(value))``."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Any) -> Any:
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Any:
        exponential, c = self._shape_or_one()
        left = (-value).log1p()
        return where(exponential, self.loc - self.scale * left, self.loc + self.scale / c * (-c * left).expm1())

    @property
    def mean(self) -> Any:
        exists = self.concentration < 1
        return where(exists, self.loc + self.scale / (1 - where(exists, self.concentration, 0.5)), nan)

    @property
    def variance(self) -> Any:
        exists = self.concentration < 0.5
        c = where(exists, self.concentration, 0.25)
        return where(exists, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), nan)

    def entropy(self) -> Any:
        return (self.scale.log() + self.concentration + 1).broadcast_to(self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.interval(self.loc,
            where(self.concentration < 0, self.loc - self.scale / self.concentration, inf))


# -- on the circle ----------------------------------------------------------------------------------------------------

# polynomials of (x / 3.75)**2 and of 3.75 / x for the modified Bessel functions of orders 0 and 1: Abramowitz and
# Stegun 9.8.1 to 9.8.4
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_LARGE = (
    (0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2, -0.2057706e-1, 0.2635537e-1, -0.1647633e-1,
        0.392377e-2),
    (0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1, 0.2282967e-1, -0.2895312e-1, 0.1787654e-1,
        -0.420059e-2),
)


def _polynomial(x: Any, ascending: tuple[float, ...]) -> Any:
    total: Any = ascending[-1]
    for c in ascending[-2::-1]:
        total = c + x * total
    return total


def _log_bessel(x: Any, order: int = 0) -> Any:
    """``log(I_order(x))`` for positive ``x``."""
    small = _polynomial((x / 3.75) ** 2, _SMALL[order])
    small = (x.abs() * small if order else small).log()
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return where(x < 3.75, small, large)


class VonMises(Distribution):
    """The circular normal distribution: angles around ``loc``, in [-pi, pi)."""

    arg_constraints: Any = {"loc": constraints.real, "concentration": constraints.positive}
    support: Any = constraints.real
    has_rsample = False
    loc: Tensor
    concentration: Tensor

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._begin(validate_args, loc=loc, concentration=concentration)

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        return self.concentration * (value - self.loc).cos() - math.log(2 * pi) - _log_bessel(self.concentration)

    @lazy_property
    def _proposal_r(self) -> Any:
        """The width of the wrapped Cauchy distribution that proposes angles."""
        k = self.concentration.to(float64)
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        """By rejection (Best and Fisher 1979), in double precision; all elements draw until the
        last one has its angle.
        """
        shape = self._extended_shape(sample_shape)
        with no_grad():
            loc, k, r = self.loc.to(float64), self.concentration.to(float64), self._proposal_r
            x, done = empty(shape, dtype=float64), zeros(shape, dtype=boolean)
            while not done.all():
                u1, u2, u3 = rand((3, *shape), dtype=float64).unbind()
                z = (pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | (((c / u2).log() + 1 - c) >= 0)
                x = where(accept, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accept
            return ((x + pi + loc) % (2 * pi) - pi).to(self.loc.dtype)

    mean = mode = property(lambda self: self.loc)  # type: ignore[assignment]

    @lazy_property
    def variance(self) -> Any:
        return 1 - (_log_bessel(self.concentration, 1) - _log_bessel(self.concentration, 0)).exp()
