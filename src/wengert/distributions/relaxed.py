"""Continuous relaxations of discrete distributions: at a ``temperature`` near zero they are discrete."""

from __future__ import annotations

from typing import Any

from .. import full_like, rand
from ..tensor import Size
from . import constraints
from .categories import CHOICE, Categorical
from .distribution import Distribution
from .odds import Odds, OverCategories
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform, SigmoidTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "LogitRelaxedBernoulli", "RelaxedBernoulli", "RelaxedOneHotCategorical"]

_ODDS: Any = {"probs": constraints.unit_interval, "logits": constraints.real}


class LogitRelaxedBernoulli(Odds):
    """The log-odds of a relaxed Bernoulli number: logistic noise around ``logits``."""

    arg_constraints: Any = _ODDS
    support: Any = constraints.real
    _kept = ("temperature",)

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
            validate_args: bool | None = None) -> None:
        self.temperature = temperature
        self._choose(probs, logits)
        Distribution.__init__(self, self._param.size(), validate_args=validate_args)

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

    arg_constraints: Any = CHOICE
    support: Any = constraints.real_vector
    has_rsample = True
    _kept = ("temperature",)

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
            validate_args: bool | None = None) -> None:
        self._categorical, self.temperature = Categorical(probs, logits), temperature
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

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

    arg_constraints: Any = _ODDS
    support: Any = constraints.unit_interval
    has_rsample: Any = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
            validate_args: bool | None = None) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(),
            validate_args=validate_args)


class RelaxedOneHotCategorical(_Relaxed):
    """Shares, near a one-hot vector at low temperature, with the gradient of their parameters."""

    arg_constraints: Any = CHOICE
    support: Any = constraints.simplex
    has_rsample: Any = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
            validate_args: bool | None = None) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
