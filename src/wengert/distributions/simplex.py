"""Distributions of shares: points of the simplex, and of the unit interval."""

from __future__ import annotations

import math
from typing import Any

from .. import _dirichlet_grad, _sample_dirichlet, rand, stack, where
from ..autograd.function import Function, once_differentiable
from ..functions.creation import tensor
from ..graph.modes import no_grad
from ..nn.functional import binary_cross_entropy_with_logits, one_hot
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution, ExponentialFamily, Odds
from .utils import Number, broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["Beta", "ContinuousBernoulli", "Dirichlet"]


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    slope = _dirichlet_grad(x, concentration, concentration.sum(-1, True).expand_as(concentration))
    return slope * (grad_output - (x * grad_output).sum(-1, True))


class _Dirichlet(Function):
    """Draws that move with their concentrations, each share at a fixed quantile, the others in proportion."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Any:
        x = _sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, concentration = ctx.saved_tensors
        return _Dirichlet_backward(x, concentration, grad_output)


class Dirichlet(ExponentialFamily):
    """Shares with the given ``concentration``, along the last dimension.

    >>> torch.distributions.Dirichlet(torch.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints: Any = {"concentration": constraints.independent(constraints.positive, 1)}
    support: Any = constraints.simplex
    has_rsample = True
    concentration: Tensor

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        return _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        a = self.concentration
        return (a - 1.0).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    mean = property(lambda self: self.concentration / self.concentration.sum(-1, True))  # type: ignore[assignment]

    @property
    def mode(self) -> Any:
        over = (self.concentration - 1).clamp(min=0.0)
        inner = over / over.sum(-1, True)
        corner = one_hot(inner.argmax(-1), over.shape[-1]).to(inner)
        return where((self.concentration < 1).all(-1, keepdim=True), corner, inner)

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Any:
        a, total = self.concentration, self.concentration.sum(-1)
        inner = (total - a.size(-1)) * total.digamma() - ((a - 1.0) * a.digamma()).sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() + inner

    _natural_params = property(lambda self: (self.concentration,))  # type: ignore[assignment]

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


class Beta(ExponentialFamily):
    """The first of two shares."""

    arg_constraints: Any = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support: Any = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        if isinstance(concentration1, Number) and isinstance(concentration0, Number):
            both = tensor([float(concentration1), float(concentration0)])
        else:
            both = stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0])
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1])
    mean = property(  # type: ignore[assignment]
        lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = property(lambda self: self._dirichlet.mode[..., 0])  # type: ignore[assignment]

    @property
    def variance(self) -> Any:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        return self._dirichlet.log_prob(stack([value, 1.0 - value], -1))

    def entropy(self) -> Any:
        return self._dirichlet.entropy()

    _natural_params = property(lambda self: (self.concentration1, self.concentration0))  # type: ignore[assignment]

    def _log_normalizer(self, x: Any, y: Any) -> Any:  # type: ignore[override]
        return x.lgamma() + y.lgamma() - (x + y).lgamma()


class ContinuousBernoulli(Odds, ExponentialFamily):
    """Numbers in [0, 1] of density in proportion to ``probs**x * (1 - probs)**(1 - x)``.

    Between ``lims``, where the formulas are 0 / 0 around 1/2, Taylor expansions are used.
    """

    support: Any = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0  # type: ignore[assignment]

    def __init__(self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
            validate_args: bool | None = None) -> None:
        self._choose(probs, logits)
        if probs is not None:
            if validate_args is not None and not constraints.unit_interval.check(self._param).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = self._param = clamp_probs(self._param)
        self._lims = lims
        Distribution.__init__(self, self._param.size(), validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside(self, x: Any, shift: float = 0.0) -> Any:
        """Where the formulas are good."""
        return (x <= self._lims[0] - shift) | (x > self._lims[1] - shift)

    def _split(self) -> tuple[Any, Any]:
        """Where the formulas are good, and the probabilities with a harmless one elsewhere."""
        good = self._outside(self.probs)
        return good, where(good, self.probs, self._lims[0])

    def _cont_bern_log_norm(self) -> Any:
        """The logarithm of the constant that makes the density integrate to one."""
        good, p = self._split()
        low = p <= 0.5
        norm = (((-p).log1p() - p.log()).abs().log() - where(low, (-2.0 * where(low, p, 0.0)).log1p(),
            (2.0 * where(p >= 0.5, p, 1.0) - 1.0).log()))
        x = (self.probs - 0.5).pow(2)
        return where(good, norm, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Any:
        good, p = self._split()
        x = self.probs - 0.5
        taylor = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return where(good, p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log()), taylor)

    @property
    def variance(self) -> Any:
        good, p = self._split()
        x = (self.probs - 0.5).pow(2)
        taylor = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return where(good, p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / ((-p).log1p() - p.log()).pow(2), taylor)

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def log_prob(self, value: Any) -> Any:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Any) -> Any:
        self._checked(value)
        good, p = self._split()
        inner = where(good, (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0), value)
        return where(value <= 0.0, 0.0, where(value >= 1.0, 1.0, inner))

    def icdf(self, value: Any) -> Any:
        good, p = self._split()
        away = (-p).log1p()
        return where(good, ((-p + value * (2.0 * p - 1.0)).log1p() - away) / (p.log() - away), value)

    def entropy(self) -> Any:
        log0, log1 = (-self.probs).log1p(), self.probs.log()
        return self.mean * (log0 - log1) - self._cont_bern_log_norm() - log0

    _natural_params = property(lambda self: (self.logits,))  # type: ignore[assignment]

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        good = self._outside(x, 0.5)
        cut = where(good, x, self._lims[0] - 0.5)
        return where(good, cut.expm1().abs().log() - cut.abs().log(), 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
