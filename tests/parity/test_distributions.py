"""Distributions against PyTorch's: shapes, moments, samples from one seed, densities, gradients, divergences, and what
is refused.

Each case is written once, as text, and evaluated with each library's names: ``P(...)`` is a parameter with a gradient,
``C(...)`` a constant tensor.
"""

from __future__ import annotations

import itertools
import os
import re
import warnings
from typing import Any

import numpy as np
import pytest

import wengert

if os.environ.get("WENGERT_REQUIRE_PARITY") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

_SCALE = "C([[2.0, 0.0], [0.5, 1.5]])"
_COV = "C([[2.0, 0.3], [0.3, 1.0]])"
CASES = {
    "normal": "Normal(P([0.5, -1.0]), P([1.0, 2.5]))",
    "normal-numbers": "Normal(1, 2.0)",
    "normal-many": "Normal(P([[0.5], [1.0]]), P([1.0] * 20))",
    "bernoulli": "Bernoulli(P([0.2, 0.5, 0.9, 0.0, 1.0]))",
    "bernoulli-logits": "Bernoulli(logits=P([0.2, -3.0]))",
    "binomial": "Binomial(5, P([0.2, 0.5, 0.9]))",
    "binomial-logits": "Binomial(C([3.0, 30.0]), logits=P([0.2, 0.0]))",
    "categorical": "Categorical(P([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0]]))",
    "categorical-logits": "Categorical(logits=P([1.0, 2.0, 3.0, -1.0]))",
    "one-hot": "OneHotCategorical(P([[1.0, 2.0, 3.0], [0.5, 1.0, 1.0]]))",
    "one-hot-through": "OneHotCategoricalStraightThrough(logits=P([1.0, 2.0, 3.0]))",
    "multinomial": "Multinomial(7, P([1.0, 2.0, 3.0]))",
    "multinomial-logits": "Multinomial(3, logits=P([[1.0, 2.0, 3.0], [0.0, 0.0, -1.0]]))",
    "geometric": "Geometric(P([0.2, 0.7, 1.0]))",
    "geometric-logits": "Geometric(logits=P([0.2, -0.7]))",
    "negative-binomial": "NegativeBinomial(P([3.0, 4.5]), P([0.3, 0.6]))",
    "negative-binomial-logits": "NegativeBinomial(4, logits=P([0.3, -0.6]))",
    "poisson": "Poisson(P([0.5, 3.0, 40.0]))",
    "beta": "Beta(P([0.5, 3.0]), P([2.0, 0.7]))",
    "beta-numbers": "Beta(2, 3.5)",
    "dirichlet": "Dirichlet(P([[0.5, 3.0, 8.0], [0.5, 0.2, 0.4]]))",
    "continuous-bernoulli": "ContinuousBernoulli(P([0.2, 0.5, 0.4995, 0.9]))",
    "continuous-bernoulli-logits": "ContinuousBernoulli(logits=P([0.2, 0.0]))",
    "cauchy": "Cauchy(P([0.5, -1.0]), P([1.0, 2.5]))",
    "laplace": "Laplace(P([0.5, -1.0]), P([1.0, 2.5]))",
    "student": "StudentT(P([0.5, 1.5, 5.0]), P([1.0, 2.0, 3.0]), P(2.0))",
    "uniform": "Uniform(P([0.5, -1.0]), P([1.0, 2.5]))",
    "generalized-pareto": "GeneralizedPareto(P([0.5, -1.0, 0.0]), P([1.0, 2.5, 1.0]), P([0.3, -0.4, 0.0]))",
    "von-mises": "VonMises(P([0.5, -1.0]), P([1.0, 20.5]))",
    "exponential": "Exponential(P([0.5, 3.0]))",
    "gamma": "Gamma(P([0.5, 3.0, 30.0]), P([2.0, 0.7, 3.0]))",
    "chi2": "Chi2(P([0.5, 3.0]))",
    "fisher": "FisherSnedecor(P([1.5, 3.0]), P([1.0, 5.0]))",
    "gumbel": "Gumbel(P([0.5, -1.0]), P([1.0, 2.5]))",
    "half-cauchy": "HalfCauchy(P([1.0, 2.5]))",
    "half-normal": "HalfNormal(P([1.0, 2.5]))",
    "inverse-gamma": "InverseGamma(P([0.5, 3.0]), P([2.0, 0.7]))",
    "kumaraswamy": "Kumaraswamy(P([1.5, 3.0]), P([2.0, 4.7]))",
    "log-normal": "LogNormal(P([0.5, -1.0]), P([1.0, 0.5]))",
    "logistic-normal": "LogisticNormal(P([0.5, -1.0]), P([1.0, 0.5]))",
    "pareto": "Pareto(P([0.5, 1.0]), P([1.5, 2.5]))",
    "weibull": "Weibull(P([0.5, 1.0]), P([1.5, 2.5]))",
    "relaxed-bernoulli": "RelaxedBernoulli(P([0.5]), P([0.2, 0.9]))",
    "relaxed-bernoulli-logits": "RelaxedBernoulli(C([0.5]), logits=P([0.2, 0.9]))",
    "relaxed-one-hot": "RelaxedOneHotCategorical(P([0.5]), P([0.2, 0.9, 0.3]))",
    "relaxed-one-hot-logits": "RelaxedOneHotCategorical(C([0.5]), logits=P([[0.2, 0.9, 0.3], [1.0, 1.0, 2.0]]))",
    "multivariate-normal": f"MultivariateNormal(P([0.5, -1.0]), scale_tril={_SCALE})",
    "multivariate-normal-covariance": f"MultivariateNormal(P([[0.5, -1.0], [1.0, 1.0], [0.0, 0.0]]), G({_COV}))",
    "multivariate-normal-precision": f"MultivariateNormal(P([0.5, -1.0]), precision_matrix=stack([G({_COV}), 2 * "
    f"{_COV}]))",
    "low-rank-normal": "LowRankMultivariateNormal(P([0.5, -1.0, 0.0]), P([[1.0], [0.5], [2.0]]), P([0.5, 1.0, 2.0]))",
    "low-rank-normal-batch": "LowRankMultivariateNormal(P([[0.5, -1.0], [0.0, 0.0]]), P([[1.0, 0.0], [0.5, 2.0]]), "
    "P([0.5, 1.0]))",
    "lkj": "LKJCholesky(3, P([0.5, 2.0]))",
    "wishart": f"Wishart(P([3.5, 5.0]), scale_tril={_SCALE})",
    "wishart-covariance": f"Wishart(P(4.0), G({_COV}))",
    "wishart-precision": f"Wishart(6, precision_matrix=G({_COV}))",
    "mixture": "MixtureSameFamily(Categorical(P([1.0, 2.0])), Normal(P([-1.0, 1.0]), P([0.5, 1.0])))",
    "mixture-of-vectors": "MixtureSameFamily(Categorical(P([1.0, 2.0])), Independent(Normal(P([[-1.0, 0.0], [1.0, "
    "2.0]]), P([1.0])), 1))",
    "mixture-batch": "MixtureSameFamily(Categorical(P([[1.0, 2.0], [1.0, 1.0], [2.0, 1.0]])), Gamma(P([[1.0, 2.0]] * "
    "3), P([0.5, 1.0])))",
    "independent": "Independent(Normal(P([[0.5, -1.0], [1.0, 2.0]]), P([1.0, 2.5])), 1)",
    "independent-discrete": "Independent(Bernoulli(P([0.5, 0.25])), 0)",
    "transformed": "TransformedDistribution(Normal(P([0.5]), P(1.0)), [TanhTransform(), AffineTransform(P([1.0, 2.0]), "
    "-2.0)])",
    "transformed-event": "TransformedDistribution(Normal(P([0.5, 1.0, 2.0]), P(1.0)), StickBreakingTransform())",
    "transformed-reshape": "TransformedDistribution(Normal(P([0.5, 1.0, 2.0, 3.0]), P(1.0)), [ReshapeTransform((4,), "
    "(2, 2)), SoftplusTransform()])",
}
SHOWN = "probs logits covariance_matrix precision_matrix scale_tril concentration1 df temperature loc param_shape"
VALUES = "mean mode variance stddev entropy perplexity"


@pytest.fixture(autouse=True)
def checked() -> Any:
    """Both libraries check what they are given, whatever was imported before (PyTorch's compiler switches that off)."""
    before = [(L.distributions.Distribution, L.distributions.Distribution._validate_args) for L in (torch, wengert)]
    for kind, _ in before:
        kind.set_default_validate_args(True)
    yield
    for kind, validated in before:
        kind.set_default_validate_args(validated)


def wrap(library: Any, dtype: str) -> tuple[dict[str, Any], list[Any]]:
    """The names of a case, and the list of parameters that evaluating it makes."""
    parameters: list[Any] = []
    kind = getattr(library, dtype)

    def parameter(values: Any) -> Any:
        parameters.append(library.tensor(values, dtype=kind).requires_grad_())
        return parameters[-1]

    def grown(t: Any) -> Any:
        parameters.append(t.detach().clone().requires_grad_())
        return parameters[-1]

    names = {n: getattr(library.distributions, n) for n in library.distributions.__all__}
    return ({**names, "P": parameter, "G": grown, "C": lambda v: library.tensor(v, dtype=kind), "stack": library.stack},
        parameters)


def make(library: Any, case: str, dtype: str = "float64") -> tuple[Any, list[Any]]:
    names, parameters = wrap(library, dtype)
    return eval(CASES.get(case, case), names), parameters


def outcome(f: Any) -> Any:
    """What a call gives: a value, or its error."""
    try:
        return f()
    except Exception as e:
        return e


def said(e: Exception) -> str:
    """The words of an error, without the modules that classes are in."""
    return re.sub(r"(?:torch|wengert)\.[\w.]*\.", "", re.sub(r"\s+", " ", str(e)))


def same(a: Any, b: Any, what: str, tolerance: float = 1e-6) -> None:
    if isinstance(a, Exception):
        if isinstance(a, AttributeError) or "did not match Float" in str(a):
            # a slip of PyTorch's: an expanded Multinomial has no entropy, a GeneralizedPareto is of float32 only
            return
        assert type(b) is type(a), f"{what}: {b!r}, PyTorch: {a!r}"
        assert said(b) == said(a), f"{what}: {b!r}, PyTorch: {a!r}"
        return
    assert not isinstance(b, Exception), f"{what}: {b!r}, PyTorch: {a!r}"
    if isinstance(a, torch.Tensor):
        assert tuple(a.shape) == tuple(b.shape), f"{what}: shape {b.shape}, PyTorch: {a.shape}"
        assert str(a.dtype) == str(b.dtype), f"{what}: {b.dtype}, PyTorch: {a.dtype}"
        assert a.requires_grad == b.requires_grad, f"{what}: requires_grad {b.requires_grad}"
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=tolerance, atol=tolerance, err_msg=what)
    else:
        assert str(a) == str(b).replace("wengert", "torch"), what


def same_gradients(a: Any, b: Any, ours: list[Any], theirs: list[Any], what: str, tolerance: float = 1e-5) -> None:
    """Of the sum of a result by all parameters."""
    if isinstance(a, Exception) or not a.requires_grad:
        return
    ga = outcome(lambda: torch.autograd.grad(a.sum(), theirs, allow_unused=True, retain_graph=True))
    if isinstance(ga, Exception):  # no derivative, or (Wishart) a value that was overwritten
        return
    gb = wengert.autograd.grad(b.sum(), ours, allow_unused=True, retain_graph=True)
    for i, (x, y) in enumerate(zip(ga, gb)):
        if x is None or y is None:
            assert x is y is None or not (x if y is None else y).any(), f"{what}: gradient {i} is {y}, PyTorch: {x}"
        else:
            same(x, y, f"{what}: gradient {i}", tolerance)


def pair(case: str, dtype: str = "float64") -> tuple[Any, Any, list[Any], list[Any]]:
    a, theirs = make(torch, case, dtype)
    b, ours = make(wengert, case, dtype)
    return a, b, theirs, ours


@pytest.mark.parametrize("case", CASES)
def test_what_it_is(case: str) -> None:
    a, b, theirs, ours = pair(case)
    for name in ("batch_shape", "event_shape", "has_rsample", "has_enumerate_support", "support", "__repr__",
            "arg_constraints"):
        x, y = (outcome(lambda d=d: getattr(d, name)() if name == "__repr__" else getattr(d, name)) for d in (a, b))
        same(x, y, name)
    for name in VALUES.split():
        x, y = (outcome(lambda d=d: getattr(d, name)() if name in ("entropy", "perplexity") else getattr(d, name))
            for d in (a, b))
        same(x, y, name)
        same_gradients(x, y, ours, theirs, name)
    for expand in (True, False):
        same(*(outcome(lambda d=d: d.enumerate_support(expand)) for d in (a, b)), f"enumerate_support({expand})")
    for name in SHOWN.split():
        if hasattr(a, name):
            same(getattr(a, name), getattr(b, name), name)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", CASES)
def test_samples_and_densities(case: str, dtype: str) -> None:
    a, b, theirs, ours = pair(case, dtype)
    tolerance = 1e-6 if dtype == "float64" else 2e-4
    for shape, how in itertools.product(((), (3,), (2, 5)), ("sample", "rsample")):
        drawn = []
        for library, d in ((torch, a), (wengert, b)):
            library.manual_seed(3)
            drawn.append(outcome(lambda d=d: getattr(d, how)(library.Size(shape))))
            drawn.append(library.rand(2))  # the stream goes on at the same place
        same(drawn[0], drawn[2], f"{how}({shape})", tolerance)
        same(drawn[1], drawn[3], f"after {how}({shape})")
        if isinstance(drawn[0], Exception):
            continue
        same_gradients(drawn[0], drawn[2], ours, theirs, how, tolerance * 20)
        if how == "sample":
            x = drawn[0].detach()
            y = wengert.tensor(x.numpy())
            for name in ("log_prob", "cdf"):
                u, v = (outcome(lambda d=d, at=at: getattr(d, name)(at)) for d, at in ((a, x), (b, y)))
                same(u, v, name, tolerance * 20)
                same_gradients(u, v, ours, theirs, name, tolerance * 100)
    p = [0.1, 0.5, 0.8]
    if not a.event_shape and dtype == "float64" and a.batch_shape == (3,):
        same(
            *(outcome(lambda d=d, t=t: d.icdf(t))
                for d, t in ((a, torch.tensor(p).double()), (b, wengert.tensor(p).double()))), "icdf")
    same(
        *(outcome(lambda d=d, t=t: d.icdf(t))
            for d, t in ((a, torch.tensor(0.3).double()), (b, wengert.tensor(0.3).double()))), "icdf", tolerance)


@pytest.mark.parametrize("case", CASES)
def test_expanded(case: str) -> None:
    a, b, theirs, ours = pair(case)
    _ = outcome(lambda: (a.probs, b.probs)), outcome(lambda: (a.logits, b.logits))  # computed lazily before
    shape = (2, *a.batch_shape)
    a, b = a.expand(torch.Size(shape)), b.expand(shape)
    assert type(b).__name__ == type(a).__name__
    for name in ("batch_shape", "event_shape", "__repr__"):
        same(*(outcome(lambda d=d: getattr(d, name)() if name == "__repr__" else getattr(d, name)) for d in (a, b)),
            name)
    drawn = []
    for library, d in ((torch, a), (wengert, b)):
        library.manual_seed(5)
        drawn.append(d.sample((2,)) if library is wengert else d.sample(torch.Size((2,))))
    same(*drawn, "sample")
    value = drawn[0].detach()
    x, y = outcome(lambda: a.log_prob(value)), outcome(lambda: b.log_prob(wengert.tensor(value.numpy())))
    same(x, y, "log_prob", 1e-5)
    same_gradients(x, y, ours, theirs, "log_prob")
    same(*(outcome(lambda d=d: d.entropy()) for d in (a, b)), "entropy")


ONE_OF_EACH = [
    "bernoulli", "beta", "binomial", "categorical", "cauchy", "continuous-bernoulli", "dirichlet", "exponential",
    "gamma", "geometric", "gumbel", "half-normal", "independent", "laplace", "low-rank-normal", "log-normal",
    "multivariate-normal", "multivariate-normal-precision", "normal", "one-hot", "pareto", "poisson", "uniform", "chi2",
    "wishart", "student", "low-rank-normal-batch", "transformed",
]


@pytest.mark.parametrize("first", ONE_OF_EACH)
def test_divergences(first: str) -> None:
    for second in ONE_OF_EACH:
        (p, own), (q, others) = make(torch, first), make(torch, second)
        (r, mine), (s, further) = make(wengert, first), make(wengert, second)
        if p.batch_shape != q.batch_shape and 1 not in (*p.batch_shape, *q.batch_shape):
            p, r = (p.expand((2, 3)), r.expand((2, 3))) if p.batch_shape == (3,) else (p, r)
            q, s = (q.expand((2, 3)), s.expand((2, 3))) if q.batch_shape == (3,) else (q, s)
            if p.batch_shape == q.batch_shape == (2,) or {tuple(p.batch_shape), tuple(q.batch_shape)} & {(2,)}:
                continue
        x, y = (outcome(lambda: torch.distributions.kl_divergence(p, q)),
            outcome(lambda: wengert.distributions.kl_divergence(r, s)))
        if isinstance(x, (RuntimeError, IndexError)) and not isinstance(x, NotImplementedError):
            continue  # shapes that do not fit
        same(x, y, f"{first} from {second}", 1e-5)
        same_gradients(x, y, mine + further, own + others, f"{first} from {second}")


def test_divergences_of_boundaries() -> None:
    """Where one distribution reaches and the other does not; a narrower uniform, and wider ones."""
    pairs = [
        ("Bernoulli(C([0.0, 1.0, 0.5, 0.5]))", "Bernoulli(C([0.5, 0.5, 0.0, 1.0]))"),
        ("Categorical(C([[0.0, 1.0], [0.5, 0.5]]))", "Categorical(C([[0.5, 0.5], [0.0, 1.0]]))"),
        ("Uniform(C([0.2, -1.0]), C([0.8, 2.0]))", "Uniform(0.0, 1.0)"),
        ("Uniform(C([0.2, -1.0]), C([0.8, 2.0]))", "Beta(C([2.0, 2.0]), C([3.0, 3.0]))"),
        ("Uniform(C([0.2, -1.0]), C([0.8, 2.0]))", "Gamma(C([2.0, 2.0]), C([3.0, 3.0]))"),
        ("Uniform(C([0.2, 1.0]), C([0.8, 2.0]))", "Pareto(C([0.5, 0.5]), C([3.0, 3.0]))"),
        ("Uniform(C([0.2, -1.0]), C([0.8, 2.0]))", "ContinuousBernoulli(C([0.3, 0.3]))"),
        ("Uniform(C([0.2, -1.0]), C([0.8, 2.0]))", "Exponential(C([0.3, 0.3]))"),
        ("Beta(C([2.0, 2.0]), C([3.0, 3.0]))", "Uniform(C([0.0, 0.1]), C([1.0, 1.0]))"),
        ("ContinuousBernoulli(C([0.3, 0.3]))", "Uniform(C([-0.1, 0.0]), C([1.1, 1.0]))"),
        ("Pareto(C([0.5, 0.5, 0.5]), C([0.9, 1.5, 3.0]))", "Normal(C([1.0] * 3), C([2.0] * 3))"),
        ("Pareto(C([0.5, 0.5, 0.5]), C([0.9, 1.5, 3.0]))", "Gamma(C([1.0] * 3), C([2.0] * 3))"),
        ("Pareto(C([0.5, 0.5, 0.5]), C([0.9, 1.5, 3.0]))", "Exponential(C([1.0] * 3))"),
        ("Pareto(C([0.5, 0.5]), C([0.9, 1.5]))", "Pareto(C([0.4, 0.6]), C([1.0] * 2))"),
        ("Binomial(C([3.0, 4.0]), C([0.3, 0.4]))", "Binomial(C([3.0, 3.0]), C([0.4, 0.4]))"),
        ("Binomial(C([3.0, 4.0]), C([0.3, 0.4]))", "Binomial(C([3.0, 5.0]), C([0.4, 0.4]))"),
        ("Independent(Normal(C([0.0, 1.0]), 1.0), 1)", "Independent(Normal(C([[0.0, 1.0]]), 1.0), 2)"),
    ]
    for first, second in pairs:
        found = [outcome(lambda L=L: L.distributions.kl_divergence(make(L, first)[0], make(L, second)[0]))
            for L in (torch, wengert)]
        same(*found, f"{first} from {second}")


REFUSED = [
    "Normal(C([0.0, 1.0]), C([1.0, -1.0]))",
    "Normal(C(float('nan')), 1.0)",
    "Normal('a', 1.0)",
    "Uniform(1.0, 0.0)",
    "Bernoulli(1.5)",
    "Bernoulli()",
    "Bernoulli(0.5, logits=0.0)",
    "Categorical(C(1.0))",
    "Categorical(logits=C(1.0))",
    "Categorical(C([-1.0, 0.5]))",
    "Categorical()",
    "OneHotCategorical(C([-1.0, 0.5]))",
    "Multinomial(C([2.0]), C([0.5, 0.5]))",
    "Binomial(-1, 0.5)",
    "Binomial(2.5, 0.5)",
    "Geometric(0.0)",
    "NegativeBinomial(2, 1.0)",
    "Poisson(-1.0)",
    "Dirichlet(C(1.0))",
    "Dirichlet(C([1.0, -1.0]))",
    "Beta(0.0, 1.0)",
    "ContinuousBernoulli(1.5, validate_args=True)",
    "Gamma(-1.0, 1.0)",
    "MultivariateNormal(C(1.0), C([[1.0]]))",
    "MultivariateNormal(C([1.0]), C([1.0]))",
    "MultivariateNormal(C([1.0]))",
    "MultivariateNormal(C([1.0, 1.0]), C([[1.0, 2.0], [2.0, 1.0]]))",
    "MultivariateNormal(C([1.0, 1.0]), scale_tril=C([[1.0, 2.0], [2.0, 1.0]]))",
    "LowRankMultivariateNormal(C([1.0, 1.0]), C([[1.0]]), C([1.0, 1.0]))",
    "LowRankMultivariateNormal(C([1.0, 1.0]), C([[1.0], [1.0]]), C([1.0]))",
    "LKJCholesky(1)",
    "Wishart(0.5, C([[1.0, 0.0], [0.0, 1.0]]))",
    "Wishart(4.5)",
    "MixtureSameFamily(Normal(0.0, 1.0), Normal(0.0, 1.0))",
    "MixtureSameFamily(Categorical(C([1.0, 1.0])), Normal(C([0.0] * 3), 1.0))",
    "Independent(Normal(0.0, 1.0), 1)",
    "TransformedDistribution(Normal(0.0, 1.0), StickBreakingTransform())",
    "TransformedDistribution(Normal(0.0, 1.0), 3)",
    "TransformedDistribution(Normal(0.0, 1.0), [3])",
    "Normal(0.0, 1.0).log_prob(2.0)",
    "Normal(0.0, 1.0).log_prob(C(float('nan')))",
    "Normal(C([0.0, 1.0]), 1.0).log_prob(C([0.0] * 3))",
    "Dirichlet(C([1.0, 1.0])).log_prob(C([0.5, 0.6]))",
    "Dirichlet(C([1.0, 1.0])).log_prob(C([0.5, 0.2, 0.3]))",
    "Bernoulli(0.5).log_prob(C(0.5))",
    "Categorical(C([1.0, 1.0])).log_prob(C(2))",
    "Uniform(0.0, 1.0).log_prob(C(2.0))",
    "Normal(0.0, 1.0).enumerate_support()",
    "Poisson(1.0).rsample()",
    "Binomial(C([3.0, 4.0]), 0.5).entropy()",
    "Bernoulli(0.5).cdf(C(0.5))",
    "VonMises(0.0, 1.0).entropy()",
    "transform_to(Bernoulli(0.5).support)",
    "ExpTransform(cache_size=2)",
    "ReshapeTransform((3,), (2,))",
    "Normal(0.0, 1.0).set_default_validate_args('x')",
]


@pytest.mark.parametrize("text", REFUSED)
def test_refused_alike(text: str) -> None:
    a, b = (outcome(lambda L=L: make(L, text)[0]) for L in (torch, wengert))
    assert isinstance(a, Exception), "PyTorch accepts it"
    assert type(b) is type(a), f"{b!r}, PyTorch: {a!r}"
    assert said(b) == said(a)


def test_warnings_and_settings() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert wengert.distributions.Normal(0.0, 1.0).sample_n(3).shape == (3,)
    assert seen[0].category is FutureWarning
    wengert.distributions.Distribution.set_default_validate_args(False)
    try:
        wengert.distributions.Normal(0.0, -1.0)
    finally:
        wengert.distributions.Distribution.set_default_validate_args(True)


def test_names() -> None:
    """Every public name of the package and of its modules."""
    import importlib
    import pkgutil

    assert not set(torch.distributions.__all__) - set(wengert.distributions.__all__)
    for info in pkgutil.iter_modules(torch.distributions.__path__):
        theirs = importlib.import_module(f"torch.distributions.{info.name}")
        ours = importlib.import_module(f"wengert.distributions.{info.name}")
        assert not [n for n in getattr(theirs, "__all__", ()) if not hasattr(ours, n)], info.name


def test_divergences_of_other_bases():
    """Libraries register classes that do not derive from ``Distribution``."""

    class Other:
        pass

    for library in (torch, wengert):
        module = library.distributions
        assert module.register_kl(Other, module.Normal)(len) is len
        with pytest.raises(TypeError, match="must be a class"):
            module.register_kl(Other, 3)
