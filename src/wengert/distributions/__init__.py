"""Probability distributions, ``torch.distributions``: densities, samples with gradients, entropies, divergences.

The same seed gives the same samples as PyTorch. Invalid parameters and values raise ``ValueError``, see
``validate_args``.

>>> loc = torch.tensor(1.0, requires_grad=True)
>>> torch.distributions.Normal(loc, 2.0).rsample((3,)).sum().backward()
>>> loc.grad
tensor(3.)
"""

from __future__ import annotations

import sys
from importlib import import_module

from . import constraints, transforms
from .categories import Categorical, Multinomial, OneHotCategorical, OneHotCategoricalStraightThrough
from .compound import Independent, MixtureSameFamily, TransformedDistribution
from .constraint_registry import biject_to, transform_to
from .counts import Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson
from .derived import (
    Gumbel,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    Pareto,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
    Weibull,
)
from .distribution import Distribution, ExponentialFamily
from .gaussian import LowRankMultivariateNormal, MultivariateNormal
from .kl import kl_divergence, register_kl
from .matrices import LKJCholesky, Wishart
from .positive import Chi2, Exponential, FisherSnedecor, Gamma
from .real_line import Cauchy, GeneralizedPareto, Laplace, Normal, StudentT, Uniform, VonMises
from .simplex import Beta, ContinuousBernoulli, Dirichlet
from .transforms import *  # noqa: F403

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet",
    "Distribution", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric",
    "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace",
    "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial",
    "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough",
    "Pareto", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution",
    "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "constraints", "kl_divergence", "register_kl",
    "transform_to", "transforms",
]
__all__ += transforms.__all__

# PyTorch has a module for each kind of distribution; ours, by family, are found under those names too.
_HOMES = {
    "categories": "categorical multinomial one_hot_categorical",
    "compound": "independent mixture_same_family transformed_distribution",
    "counts": "bernoulli binomial geometric negative_binomial poisson",
    "derived": "gumbel half_cauchy half_normal inverse_gamma kumaraswamy log_normal logistic_normal pareto"
        " relaxed_bernoulli relaxed_categorical weibull",
    "distribution": "exp_family",
    "gaussian": "lowrank_multivariate_normal multivariate_normal",
    "matrices": "lkj_cholesky wishart",
    "positive": "chi2 exponential fishersnedecor gamma",
    "real_line": "cauchy generalized_pareto laplace normal studentT uniform von_mises",
    "simplex": "beta continuous_bernoulli dirichlet",
}
for _home, _names in _HOMES.items():
    for _name in _names.split():
        globals()[_name] = sys.modules[f"{__name__}.{_name}"] = import_module(f"{__name__}.{_home}")
