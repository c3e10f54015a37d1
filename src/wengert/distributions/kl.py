"""The Kullback-Leibler divergence of one distribution from another, by the types of both."""

from __future__ import annotations

import math
import warnings
from math import inf, pi
from typing import TYPE_CHECKING, Any

from .. import broadcast_shapes, diag_embed, full_like, linalg, where
from ..nn.functional import softplus
from .categories import Categorical, OneHotCategorical
from .compound import Independent, TransformedDistribution
from .counts import Bernoulli, Binomial, Geometric, Poisson
from .derived import Gumbel, HalfNormal, Pareto
from .distribution import ExponentialFamily, log_normalizer_slopes
from .gaussian import LowRankMultivariateNormal, MultivariateNormal, log_diagonal, mahalanobis
from .positive import Exponential, Gamma
from .real_line import Cauchy, Laplace, Normal, Uniform
from .simplex import Beta, ContinuousBernoulli, Dirichlet
from .utils import euler_constant, sum_rightmost

if TYPE_CHECKING:
    from collections.abc import Callable

    from .distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Callable[[Any, Any], Any] | None] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Any], Any]:
    """A decorator: the function is the divergence of ``type_p`` from ``type_q``, and of what derives from them.

    ``TypeError`` if these are no classes. (They need not derive from ``Distribution``: libraries have bases of their
    own.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"issubclass() arg 1 must be a class; {name} is {kind!r}")

    def decorate(function: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorate


def _nearest(matches: list[tuple[type, type]], first: int) -> tuple[type, type]:
    """The entry whose classes are most derived, the one of index ``first`` before the other."""

    def nearer(a: tuple[type, type], b: tuple[type, type]) -> bool:
        for i in (first, 1 - first):
            if a[i] is not b[i]:
                return issubclass(a[i], b[i])
        return True

    best = matches[0]
    for match in matches[1:]:
        if nearer(match, best):
            best = match
    return best


def _dispatch_kl(type_p: type, type_q: type) -> Callable[[Any, Any], Any] | None:
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return None
    left, right = _nearest(matches, 0), _nearest(matches, 1)
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left[0].__name__}, "
            f"{right[1].__name__})",
            RuntimeWarning, stacklevel=3,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """``E_p[log p - log q]``, of the batch's shape; ``NotImplementedError`` for pairs without a formula.

    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    pair = (type(p), type(q))
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    function = _KL_MEMOIZE[pair]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
    return function(p, q)


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Any:
    """The Bregman divergence of the logarithm of the normaliser."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences")
    eta, normalizer, slopes = log_normalizer_slopes(p)
    total = q._log_normalizer(*q._natural_params) - normalizer
    for mine, other, slope in zip(eta, q._natural_params, slopes):
        total = total - sum_rightmost((other - mine) * slope, len(q.event_shape))
    return total


# -- of one kind ------------------------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    none = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    one = where(p.probs == 0, 0.0, where(q.probs == 0, inf, one))
    return one + where(p.probs == 1, 0.0, where(q.probs == 1, inf, none))


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return where(p.total_count > q.total_count, inf, p.total_count * each)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    each = p.probs * (p.logits - q.logits)
    return where(p.probs == 0, 0.0, where(q.probs == 0, inf, each)).sum(-1)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    norms = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return norms + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * (-away / p.scale).exp() - 1


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio, away = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return -ratio.log() - away + ratio * euler_constant + (away + (1 + ratio).lgamma()).exp() - (1 + euler_constant)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    return where(p.scale < q.scale, inf, q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    """The same change of variable on both sides changes nothing."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


_OF_ONE_KIND: dict[type, Any] = {
    Geometric: lambda p, q: -p.entropy() - (-q.probs).log1p() / p.probs - q.logits,
    Poisson: lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate),
    OneHotCategorical: lambda p, q: _categorical(p._categorical, q._categorical),
    ContinuousBernoulli: lambda p, q: (
        p.mean * (p.logits - q.logits) + (p._cont_bern_log_norm() + (-p.probs).log1p())
        - q._cont_bern_log_norm() - (-q.probs).log1p()),
    Beta: lambda p, q: _dirichlet(p._dirichlet, q._dirichlet),
    Exponential: lambda p, q: -(q.rate / p.rate).log() + q.rate / p.rate - 1,
    Gamma: lambda p, q: (
        q.concentration * (p.rate / q.rate).log() + q.concentration.lgamma() - p.concentration.lgamma()
        + (p.concentration - q.concentration) * p.concentration.digamma()
        + (q.rate - p.rate) * (p.concentration / p.rate)),
    HalfNormal: lambda p, q: _normal(p.base_dist, q.base_dist),
    Cauchy: lambda p, q: (
        ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()),
    Uniform: lambda p, q: where(
        (q.low > p.low) | (q.high < p.high), inf, ((q.high - q.low) / (p.high - p.low)).log()),
}
for _kind, _formula in _OF_ONE_KIND.items():
    register_kl(_kind, _kind)(_formula)


# -- normal vectors ---------------------------------------------------------------------------------------------------


def _same_events(p: Any, q: Any, kinds: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {kinds} with different event shapes cannot be computed")


def _square_norm(matrix: Any) -> Any:
    """``trace(X X')``."""
    return matrix.pow(2).sum((-2, -1))


def _in_units_of(factor: Any, matrix: Any) -> Any:
    """``L^-1 X``, both expanded to one batch."""
    batch = broadcast_shapes(factor.shape[:-2], matrix.shape[:-2])
    return linalg.solve_triangular(factor.expand((*batch, *factor.shape[-2:])),
        matrix.expand((*batch, *matrix.shape[-2:])), upper=False)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: Any, q: Any) -> Any:
    _same_events(p, q, "Multivariate Normals")
    mine, other = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    spread = _square_norm(_in_units_of(other, mine)) + mahalanobis(other, q.loc - p.loc)
    return log_diagonal(other) - log_diagonal(mine) + 0.5 * (spread - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p: Any, q: Any) -> Any:
    _same_events(p, q, "Low Rank Multivariate Normals")
    a, d, own = q._reduction(), q._unbroadcasted_cov_diag, p._unbroadcasted_cov_diag
    w = p._unbroadcasted_cov_factor
    outer = (own / d).sum(-1) + _square_norm(w * d.rsqrt().unsqueeze(-1))
    spread = outer - _square_norm(a * own.sqrt().unsqueeze(-2)) - _square_norm(a.matmul(w))
    return 0.5 * (q._log_det() - p._log_det() + spread + q._distance(q.loc - p.loc) - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _full_from_low_rank(p: Any, q: Any) -> Any:
    _same_events(p, q, "(Low Rank) Multivariate Normals")
    mine = p._unbroadcasted_scale_tril
    outer = _square_norm(mine * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1))
    spread = outer - _square_norm(q._reduction().matmul(mine))
    return 0.5 * (q._log_det() - 2 * log_diagonal(mine) + spread + q._distance(q.loc - p.loc) - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_from_full(p: Any, q: Any) -> Any:
    _same_events(p, q, "(Low Rank) Multivariate Normals")
    other = q._unbroadcasted_scale_tril
    spread = _square_norm(_in_units_of(other, p._unbroadcasted_cov_factor)) + _square_norm(
        _in_units_of(other, diag_embed(p._unbroadcasted_cov_diag.sqrt())))
    distance = mahalanobis(other, q.loc - p.loc)
    return 0.5 * (2 * log_diagonal(other) - p._log_det() + spread + distance - p.event_shape[0])


# -- of different kinds -----------------------------------------------------------------------------------------------


def _normal_cost(q: Any, mean: Any, second: Any) -> Any:
    """The mean of ``-log q`` of a normal distribution, from the mean and the second moment of p."""
    return 0.5 * math.log(2 * pi) + q.scale.log() + (second - 2 * q.loc * mean + q.loc.pow(2)) / (2 * q.scale.pow(2))


def _gamma_cost(q: Any, mean: Any, log_mean: Any) -> Any:
    """The same of a gamma distribution, from the means of the number and of its logarithm."""
    return q.concentration.lgamma() - q.concentration * q.rate.log() - (q.concentration - 1) * log_mean + q.rate * mean


def _exponential_cost(q: Any, mean: Any) -> Any:
    return q.rate * mean - q.rate.log()


def _continuous_bernoulli_cost(p: Any, q: Any) -> Any:
    return -p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


def _gumbel_cost(q: Any, mean: Any, mean_of_exp: Any) -> Any:
    """``mean_of_exp``: of ``exp(-x / scale)``."""
    return q.scale.log() + (mean - q.loc) / q.scale + (q.loc / q.scale).exp() * mean_of_exp


def _exponential_gumbel(p: Any, q: Any) -> Any:
    product = p.rate * q.scale
    return _gumbel_cost(q, p.mean, product / (product + 1))


def _uniform_gumbel(p: Any, q: Any) -> Any:
    fall = (-p.low / q.scale).exp() - (-p.high / q.scale).exp()
    return _gumbel_cost(q, p.mean, q.scale * fall / (p.high - p.low))


def _normal_laplace(p: Any, q: Any) -> Any:
    away = p.loc - q.loc
    sigmas = away / p.scale
    distance = math.sqrt(2 / pi) * p.scale * (-0.5 * sigmas.pow(2)).exp() + away * (math.sqrt(0.5) * sigmas).erf()
    return (2 * q.scale).log() + distance / q.scale


def _mean_of_log(low: Any, high: Any) -> Any:
    """Of a uniform number: ``(h log h - l log l) / (h - l) - 1``."""
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


def _uniform_beta(p: Any, q: Any) -> Any:
    a, b = q.concentration1, q.concentration0
    norm = a.lgamma() + b.lgamma() - (a + b).lgamma()
    return norm - (a - 1) * _mean_of_log(p.low, p.high) - (b - 1) * _mean_of_log(1 - p.high, 1 - p.low)


def _pareto_mean(p: Any, order: int = 1) -> Any:
    return p.alpha * p.scale.pow(order) / (p.alpha - order)


# The mean of -log q under p, and where p reaches out of the support of q, or the mean does not exist.
_COSTS: list[tuple[Any, ...]] = [
    (Bernoulli, Poisson, lambda p, q: q.rate - p.probs * q.rate.log()),
    (Beta, ContinuousBernoulli, _continuous_bernoulli_cost),
    (Beta, Gamma, lambda p, q: _gamma_cost(
        q, p.mean, p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma())),
    (Beta, Uniform, lambda p, q: (q.high - q.low).log(), lambda p, q: (q.low > 0) | (q.high < 1)),
    # PyTorch has an infinite divergence from the unit interval itself
    (ContinuousBernoulli, Uniform, lambda p, q: (q.high - q.low).log(), lambda p, q: (q.low >= 0) | (q.high <= 1)),
    (Exponential, Gamma, lambda p, q: _gamma_cost(q, 1 / p.rate, -euler_constant - p.rate.log())),
    (Exponential, Gumbel, _exponential_gumbel),
    (Gamma, Gumbel, lambda p, q: _gumbel_cost(
        q, p.mean, (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration))),
    (Normal, Gumbel, lambda p, q: _gumbel_cost(
        q, p.loc, (-p.loc / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp())),
    (Normal, Laplace, _normal_laplace),
    (Pareto, Exponential, lambda p, q: _exponential_cost(q, _pareto_mean(p)), lambda p, q: p.alpha <= 1),
    (Pareto, Gamma, lambda p, q: _gamma_cost(q, _pareto_mean(p), p.scale.log() + p.alpha.reciprocal()),
        lambda p, q: p.alpha <= 1),
    (Pareto, Normal, lambda p, q: _normal_cost(q, _pareto_mean(p), _pareto_mean(p, 2)), lambda p, q: p.alpha <= 2),
    (Uniform, Beta, _uniform_beta, lambda p, q: (p.high > 1) | (p.low < 0)),
    (Uniform, ContinuousBernoulli, _continuous_bernoulli_cost, lambda p, q: (p.high >= 1) | (p.low <= 0)),
    (Uniform, Exponential, lambda p, q: _exponential_cost(q, p.mean), lambda p, q: p.low < 0),
    (Uniform, Gamma, lambda p, q: _gamma_cost(q, p.mean, _mean_of_log(p.low, p.high)), lambda p, q: p.low < 0),
    (Uniform, Gumbel, _uniform_gumbel),
    (Uniform, Pareto, lambda p, q: (
        (q.alpha + 1) * _mean_of_log(p.low, p.high) - (q.alpha * q.scale.pow(q.alpha)).log()),
        lambda p, q: p.low < q.scale),
    *((kind, Normal, lambda p, q: _normal_cost(q, p.mean, p.variance + p.mean.square()))
        for kind in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform)),
    *((kind, Exponential, lambda p, q: _exponential_cost(q, p.mean)) for kind in (Beta, ContinuousBernoulli, Gamma)),
]


def _register_cost(p_kind: type, q_kind: type, cost: Any, outside: Any = None) -> None:
    @register_kl(p_kind, q_kind)
    def divergence(p: Any, q: Any) -> Any:
        finite = cost(p, q) - p.entropy()
        return finite if outside is None else where(outside(p, q), inf, finite)


for _row in _COSTS:
    _register_cost(*_row)

# p reaches where q cannot: infinite. The parameter gives the shape.
_INFINITE: list[tuple[Any, str, tuple[Any, ...]]] = [
    (Beta, "concentration1", (Pareto,)),
    (ContinuousBernoulli, "probs", (Pareto,)),
    (Exponential, "rate", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, "concentration", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gumbel, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Laplace, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Normal, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Pareto, "scale", (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, "rate", (Bernoulli, Binomial)),
]
for _p, _name, _qs in _INFINITE:
    for _q in _qs:
        register_kl(_p, _q)(lambda p, q, name=_name: full_like(getattr(p, name), inf))
