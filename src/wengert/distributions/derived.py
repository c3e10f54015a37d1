"""Distributions of functions of random numbers, among them continuous relaxations of discrete distributions."""

from __future__ import annotations

import math
from math import inf, nan
from typing import Any

from .. import as_tensor as as_a_tensor
from .. import finfo, full_like, ones_like, rand, where, zeros_like
from ..tensor import Size
from . import constraints
from . import transforms as T
from .categories import OverCategories
from .compound import TransformedDistribution
from .distribution import Odds
from .positive import Exponential, Gamma
from .real_line import Cauchy, Normal, Uniform
from .utils import broadcast_all, clamp_probs, euler_constant

__all__ = [
    "ExpRelaxedCategorical", "Gumbel", "HalfCauchy", "HalfNormal", "InverseGamma", "Kumaraswamy", "LogNormal",
    "LogisticNormal", "LogitRelaxedBernoulli", "Pareto", "RelaxedBernoulli", "RelaxedOneHotCategorical", "Weibull",
]


_LOCATED: Any = {"loc": constraints.real, "scale": constraints.positive}
_TWO: Any = {"concentration1": constraints.positive, "concentration0": constraints.positive}


class LogNormal(TransformedDistribution):
    """``exp`` of normal numbers.

    >>> torch.distributions.LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints: Any = _LOCATED
    support: Any = constraints.positive
    has_rsample: Any = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), T.ExpTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.loc)
    scale = property(lambda self: self.base_dist.scale)
    mean = property(lambda self: (self.loc + self.scale.pow(2) / 2).exp())  # type: ignore[assignment]
    mode = property(lambda self: (self.loc - self.scale.square()).exp())  # type: ignore[assignment]

    @property
    def variance(self) -> Any:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Any:
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Shares: a stick broken at ``sigmoid`` of normal numbers; one more share than numbers."""

    arg_constraints: Any = _LOCATED
    support: Any = constraints.simplex
    has_rsample: Any = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        base = base if base.batch_shape else base.expand([1])
        super().__init__(base, T.StickBreakingTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)


class _Half(TransformedDistribution):
    """The absolute value of numbers that are symmetric around zero."""

    support: Any = constraints.nonnegative
    has_rsample: Any = True
    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: zeros_like(self.scale))  # type: ignore[assignment]

    def log_prob(self, value: Any) -> Any:
        value = as_a_tensor(self._checked(value), dtype=self.scale.dtype)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -inf)

    def cdf(self, value: Any) -> Any:
        self._checked(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """Absolute values of normal numbers."""

    arg_constraints: Any = {"scale": constraints.positive}

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), T.AbsTransform(), validate_args=validate_args)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))  # type: ignore[assignment]
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))  # type: ignore[assignment]


class HalfCauchy(_Half):
    """Absolute values of Cauchy numbers."""

    arg_constraints: Any = {"scale": constraints.positive}

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), T.AbsTransform(), validate_args=validate_args)

    mean = property(lambda self: self.scale.new_full(self._extended_shape(), inf))  # type: ignore[assignment]
    variance = property(lambda self: self.base_dist.variance)  # type: ignore[assignment]


class InverseGamma(TransformedDistribution):
    """Reciprocals of gamma numbers."""

    arg_constraints: Any = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.positive
    has_rsample: Any = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, T.PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    concentration = property(lambda self: self.base_dist.concentration)
    rate = property(lambda self: self.base_dist.rate)
    mode = property(lambda self: self.rate / (self.concentration + 1))  # type: ignore[assignment]

    @property
    def mean(self) -> Any:
        return where(self.concentration > 1, self.rate / (self.concentration - 1), inf)

    @property
    def variance(self) -> Any:
        a = self.concentration
        return where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), inf)

    def entropy(self) -> Any:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Gumbel(TransformedDistribution):
    """The distribution of the largest of many: ``loc - scale * log(-log(u))`` of uniform numbers."""

    arg_constraints: Any = _LOCATED
    support: Any = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        kind = finfo(self.loc.dtype)
        base = Uniform(full_like(self.loc, kind.tiny), full_like(self.loc, 1 - kind.eps), validate_args=validate_args)
        log = T.ExpTransform().inv
        steps = [log, T.AffineTransform(loc=0, scale=-ones_like(self.scale)), log,
            T.AffineTransform(loc=loc, scale=-self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    mean = property(lambda self: self.loc + self.scale * euler_constant)  # type: ignore[assignment]
    mode = property(lambda self: self.loc)  # type: ignore[assignment]
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale)  # type: ignore[assignment]
    variance = property(lambda self: self.stddev.pow(2))  # type: ignore[assignment]

    def entropy(self) -> Any:
        return self.scale.log() + (1 + euler_constant)


class Kumaraswamy(TransformedDistribution):
    """``(1 - (1 - u)**(1/b))**(1/a)``: much like a beta distribution, with a simple distribution function."""

    arg_constraints: Any = _TWO
    support: Any = constraints.unit_interval
    has_rsample: Any = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(zeros_like(self.concentration0), ones_like(self.concentration0), validate_args=validate_args)
        inner, outer = (T.PowerTransform(c.reciprocal()) for c in (self.concentration0, self.concentration1))
        super().__init__(base, [inner, T.AffineTransform(loc=1.0, scale=-1.0), outer], validate_args=validate_args)

    def _moment(self, n: int) -> Any:
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * (a.lgamma() + b.lgamma() - (a + b).lgamma()).exp()

    mean = property(lambda self: self._moment(1))  # type: ignore[assignment]
    variance = property(lambda self: self._moment(2) - self.mean.pow(2))  # type: ignore[assignment]

    @property
    def mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        return where((b < 1) | (a < 1), nan, log_mode).exp()

    def entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * ((b + 1).digamma() + euler_constant) - a.log() - b.log()


class Pareto(TransformedDistribution):
    """``scale * exp(x)`` of exponential numbers of rate ``alpha``."""

    arg_constraints: Any = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        steps = [T.ExpTransform(), T.AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        a = self.alpha.clamp(min=1)  # infinite below
        return a * self.scale / (a - 1)

    mode = property(lambda self: self.scale)  # type: ignore[assignment]

    @property
    def variance(self) -> Any:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Any:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    """``scale * x**(1/concentration)`` of exponential numbers."""

    arg_constraints: Any = {"scale": constraints.positive, "concentration": constraints.positive}
    support: Any = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        steps = [T.PowerTransform(self.concentration_reciprocal), T.AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    mode = property(  # type: ignore[assignment]
        lambda self: self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal())

    def _moment(self, n: int) -> Any:
        return (1 + n * self.concentration_reciprocal).lgamma()

    mean = property(lambda self: self.scale * self._moment(1).exp())  # type: ignore[assignment]
    variance = property(  # type: ignore[assignment]
        lambda self: self.scale.pow(2) * (self._moment(2).exp() - (2 * self._moment(1)).exp()))

    def entropy(self) -> Any:
        c = self.concentration_reciprocal
        return euler_constant * (1 - c) + (self.scale * c).log() + 1


class LogitRelaxedBernoulli(Odds):
    """The log-odds of a relaxed Bernoulli number: logistic noise around ``logits``."""

    support: Any = constraints.real
    _kept = ("temperature",)

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
            validate_args: bool | None = None) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        probs = clamp_probs(self.probs.expand(self._extended_shape(sample_shape)))
        u = clamp_probs(rand(probs.shape, dtype=probs.dtype))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        away = logits - value.mul(self.temperature)
        return self.temperature.log() + away - 2 * away.exp().log1p()


class ExpRelaxedCategorical(OverCategories):
    """The logarithms of a relaxed one-hot vector: Gumbel noise on ``logits``, normalised."""

    support: Any = constraints.real_vector
    has_rsample = True
    _kept = ("temperature",)

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
            validate_args: bool | None = None) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        u = clamp_probs(rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        k = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        log_scale = full_like(self.temperature, float(k)).lgamma() + self.temperature.log() * (k - 1)
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class _Relaxed(TransformedDistribution):
    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)


class RelaxedBernoulli(_Relaxed):
    """Numbers in (0, 1), near 0 or 1 at low temperature, with the gradient of their parameters."""

    arg_constraints: Any = Odds.arg_constraints
    support: Any = constraints.unit_interval
    has_rsample: Any = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
            validate_args: bool | None = None) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), T.SigmoidTransform(),
            validate_args=validate_args)


class RelaxedOneHotCategorical(_Relaxed):
    """Shares, near a one-hot vector at low temperature, with the gradient of their parameters."""

    arg_constraints: Any = OverCategories.arg_constraints
    support: Any = constraints.simplex
    has_rsample: Any = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
            validate_args: bool | None = None) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, T.ExpTransform(), validate_args=validate_args)
