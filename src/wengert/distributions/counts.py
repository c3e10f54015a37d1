"""Distributions of counts: successes, failures, events."""

from __future__ import annotations

from math import nan
from typing import Any

from .. import arange, finfo, poisson, sigmoid, where, zeros_like
from .. import bernoulli as bernoulli_numbers
from .. import binomial as binomial_numbers
from ..functions.creation import empty
from ..graph.modes import no_grad
from ..nn.functional import binary_cross_entropy_with_logits, logsigmoid
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution, ExponentialFamily, Odds, over_batch
from .positive import Gamma
from .utils import broadcast_all, lazy_property

__all__ = ["Bernoulli", "Binomial", "Geometric", "NegativeBinomial", "Poisson"]



class Bernoulli(Odds, ExponentialFamily):
    """One with probability ``probs``, else zero.

    >>> torch.distributions.Bernoulli(0.25).log_prob(torch.tensor(1.0)).exp()
    tensor(0.2500)
    """

    support: Any = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0  # type: ignore[assignment]

    mean = property(lambda self: self.probs)  # type: ignore[assignment]
    variance = property(lambda self: self.probs * (1 - self.probs))  # type: ignore[assignment]

    @property
    def mode(self) -> Any:
        return where(self.probs == 0.5, nan, (self.probs >= 0.5).to(self.probs))

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        with no_grad():
            return bernoulli_numbers(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        return over_batch(arange(2, dtype=self._param.dtype), self._batch_shape, expand)

    _natural_params = property(lambda self: (self.probs.logit(),))  # type: ignore[assignment]

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return x.exp().log1p()


class Binomial(Odds):
    """Successes in ``total_count`` trials."""

    arg_constraints: Any = {"total_count": constraints.nonnegative_integer, **Odds.arg_constraints}
    has_enumerate_support = True
    total_count: Tensor

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None,
            validate_args: bool | None = None) -> None:
        self._choose(probs, logits, total_count=total_count)
        Distribution.__init__(self, self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)  # type: ignore[assignment]
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))  # type: ignore[assignment]

    @property
    def mode(self) -> Any:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial_numbers(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        n, logits = self.total_count, self.logits
        positive = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2  # max(logits, 0), of slope 1/2 at 0
        normalizer = n * positive + n * (-logits.abs()).exp().log1p() - (n + 1).lgamma()
        return value * logits - (value + 1).lgamma() - (n - value + 1).lgamma() - normalizer

    def entropy(self) -> Any:
        log_prob = self.log_prob(self._values("entropy", False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._values("enumerate_support", expand)

    def _values(self, asked: str, expand: bool) -> Any:
        most = int(self.total_count.max())
        if self.total_count.min() != most:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{asked}`.")
        return over_batch(arange(1 + most, dtype=self._param.dtype), self._batch_shape, expand)


class Geometric(Odds):
    """Failures before the first success."""

    support: Any = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits, validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            value = self.probs
            raise ValueError(
                f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{self!r} to be positive but found invalid values:\n{value.detach()[~(value > 0)]}"
            )

    mean = property(lambda self: 1.0 / self.probs - 1.0)  # type: ignore[assignment]
    mode = property(lambda self: zeros_like(self.probs))  # type: ignore[assignment]
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)  # type: ignore[assignment]

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        d = self.probs.dtype
        with no_grad():
            u = empty(self._extended_shape(sample_shape), dtype=d).uniform_(finfo(d).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)  # certain success: 0 * log(0) is 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


class NegativeBinomial(Odds):
    """Successes, of probability ``probs``, before ``total_count`` failures; the count of failures need not be whole."""

    arg_constraints: Any = {
        "total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support: Any = constraints.nonnegative_integer
    total_count: Tensor

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None,
            validate_args: bool | None = None) -> None:
        self._choose(probs, logits, total_count=total_count)
        Distribution.__init__(self, self._param.size(), validate_args=validate_args)

    mean = property(lambda self: self.total_count * self.logits.exp())  # type: ignore[assignment]
    mode = property(  # type: ignore[assignment]
        lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / sigmoid(-self.logits))  # type: ignore[assignment]

    @lazy_property
    def _gamma(self) -> Any:
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        n = self.total_count
        ways = (1.0 + value).lgamma() - (n + value).lgamma() + n.lgamma()
        return n * logsigmoid(-self.logits) + value * logsigmoid(self.logits) - ways.masked_fill(n + value == 0.0, 0.0)


class Poisson(ExponentialFamily):
    """Events at a ``rate``."""

    arg_constraints: Any = {"rate": constraints.nonnegative}
    support: Any = constraints.nonnegative_integer
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._begin(validate_args, rate=rate)

    mean = variance = property(lambda self: self.rate)  # type: ignore[assignment]
    mode = property(lambda self: self.rate.floor())  # type: ignore[assignment]

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        with no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    _natural_params = property(lambda self: (self.rate.log(),))  # type: ignore[assignment]

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return x.exp()
