"""Transforms and constraints of ``torch.distributions`` against PyTorch's."""

from __future__ import annotations

import copy
import os
import pickle
from typing import Any

import numpy as np
import pytest

import wengert

if os.environ.get("WENGERT_REQUIRE_PARITY") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")

pytestmark = pytest.mark.parity

_REAL = [[-1.5, 0.25, 2.0], [0.5, -0.75, 1.0]]
_POSITIVE = [[0.5, 0.25, 2.0], [3.0, 0.75, 1.0]]
_SQUARES = [[[1.0, 0.5], [-0.5, 2.0]], [[0.3, 0.2], [0.1, -0.4]]]
# text, values that it takes
TRANSFORMS: dict[str, Any] = {
    "ExpTransform()": _REAL,
    "ExpTransform().inv": _POSITIVE,
    "SigmoidTransform()": _REAL,
    "SoftplusTransform()": _REAL,
    "TanhTransform()": _REAL,
    "AbsTransform()": _REAL,
    "PowerTransform(C([2.0, 0.5, -1.0]))": _POSITIVE,
    "PowerTransform(3.0)": _POSITIVE,
    "AffineTransform(1.0, -2.0)": _REAL,
    "AffineTransform(C([1.0, 0.0, 2.0]), C([-2.0, 1.0, 3.0]), event_dim=1)": _REAL,
    "AffineTransform(0, C([[2.0], [3.0]]))": _REAL,
    "SoftmaxTransform()": _REAL,
    "StickBreakingTransform()": _REAL,
    "CorrCholeskyTransform()": _REAL,
    "LowerCholeskyTransform()": _SQUARES,
    "PositiveDefiniteTransform()": _SQUARES,
    "ReshapeTransform((2, 3), (6,))": _REAL,
    "ComposeTransform([])": _REAL,
    "ComposeTransform([AffineTransform(0.5, 2.0), TanhTransform()])": _REAL,
    "ComposeTransform([TanhTransform(), StickBreakingTransform()])": _REAL,
    "ComposeTransform([ExpTransform(), AffineTransform(0.0, 2.0, event_dim=1)])": _REAL,
    "ComposeTransform([ExpTransform(), StickBreakingTransform()]).inv": [[0.2, 0.3, 0.5]],
    "IndependentTransform(ExpTransform(), 1)": _REAL,
    "CatTransform([ExpTransform(), TanhTransform()], 1, [1, 2])": _REAL,
    "CatTransform([ExpTransform(), TanhTransform()], 0)": _REAL,
    "CatTransform([IndependentTransform(ExpTransform(), 1), AffineTransform(0.0, 2.0)], -1, [2, 1])": _REAL,
    "StackTransform([ExpTransform(), TanhTransform(), AffineTransform(1.0, 2.0)], 1)": _REAL,
    "StackTransform([ExpTransform(), TanhTransform()], -2)": _REAL,
    "CumulativeDistributionTransform(Normal(0.5, 2.0))": _REAL,
    **{f"{to}({c})": _REAL for to in ("biject_to", "transform_to") for c in (
        "K.real", "K.positive", "K.nonnegative", "K.greater_than(2.0)", "K.greater_than_eq(C(2.0))", "K.less_than(1.0)",
        "K.unit_interval", "K.interval(-1.0, 3.0)", "K.half_open_interval(C(0.0), 1.0)", "K.simplex", "K.corr_cholesky",
        "K.real_vector", "K.independent(K.positive, 2)", "K.cat([K.positive, K.unit_interval], -1, [1, 2])",
        "K.stack([K.positive, K.less_than(2.0)], 0)",
    )},
    "transform_to(K.lower_cholesky)": _SQUARES,
    "transform_to(K.positive_definite)": _SQUARES,
    "transform_to(K.positive_semidefinite)": _SQUARES,
}


def made(library: Any, text: str) -> Any:
    D = library.distributions
    names = {n: getattr(D, n) for n in D.__all__}
    return eval(text, {**names, "K": D.constraints, "C": lambda v: library.tensor(v, dtype=library.float64)})


def outcome(f: Any) -> Any:
    try:
        return f()
    except Exception as e:
        return e


def same(a: Any, b: Any, what: str) -> None:
    if isinstance(a, Exception):
        assert type(b) is type(a) and str(b) == str(a), f"{what}: {b!r}, PyTorch: {a!r}"
    elif isinstance(a, torch.Tensor):
        assert tuple(a.shape) == tuple(b.shape), what
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-8, atol=1e-9, err_msg=what)
    else:
        assert str(b) == str(a), what


@pytest.mark.parametrize("text", TRANSFORMS)
def test_transform(text: str) -> None:
    results = []
    for library in (torch, wengert):
        t = made(library, text)
        x = library.tensor(TRANSFORMS[text], dtype=library.float64).requires_grad_()
        y = t(x)
        got = {"y": y, "x": outcome(lambda t=t, y=y: t.inv(y)),
            "jacobian": outcome(lambda t=t, x=x, y=y: t.log_abs_det_jacobian(x, y))}
        got["back"] = outcome(lambda t=t, x=x, y=y: t.inv.log_abs_det_jacobian(y, x))
        for name in ("sign", "bijective", "event_dim", "domain", "codomain", "__repr__"):
            got[name] = outcome(lambda t=t, name=name: repr(t) if name == "__repr__" else getattr(t, name))
        for name in ("forward_shape", "inverse_shape"):
            got[name] = outcome(lambda t=t, name=name,
                s=library.Size((x if name == "forward_shape" else y).shape): tuple(getattr(t, name)(s)))
        for name in ("y", "x", "jacobian"):
            if not isinstance(got[name], Exception) and got[name].requires_grad:
                got["gradient of " + name] = library.autograd.grad(got[name].sum(), x, retain_graph=True)[0]
        results.append(got)
    assert results[0].keys() == results[1].keys()
    for name, theirs in results[0].items():
        same(theirs, results[1][name], name)


EQUAL = [
    "ExpTransform()", "ExpTransform().inv", "AffineTransform(0.0, 1.0)", "AffineTransform(C([0.0]), C([1.0]))",
    "PowerTransform(2.0)", "PowerTransform(C([2.0]))", "ComposeTransform([ExpTransform()])", "ComposeTransform([])",
    "SigmoidTransform()", "CorrCholeskyTransform()",
]


@pytest.mark.parametrize("first", EQUAL)
def test_equality(first: str) -> None:
    for second in EQUAL:
        theirs, ours = (made(library, first) == made(library, second) for library in (torch, wengert))
        assert bool(ours) == bool(theirs), second


@pytest.mark.parametrize("text", [
    "ExpTransform(cache_size=1)", "AffineTransform(0.0, 2.0, cache_size=1)", "ExpTransform().with_cache(1)",
    "PowerTransform(2.0).with_cache()", "ComposeTransform([ExpTransform(), AffineTransform(1.0, 2.0)], cache_size=1)",
    "StickBreakingTransform(1)", "IndependentTransform(TanhTransform(), 1, cache_size=1)",
    "CatTransform([ExpTransform()], cache_size=1)", "ReshapeTransform((1,), (1, 1)).with_cache()",
])
def test_cached_pair_is_the_same_object(text: str) -> None:
    for library in (torch, wengert):
        t = made(library, text)
        x = library.tensor([0.5], dtype=library.float64)
        y = t(x)
        assert t.inv(y) is x
        assert t(x) is y or "Compose" in text
        t = copy.deepcopy(t)
        t = pickle.loads(pickle.dumps(t))
        same(y, t(x), "after a copy") if library is torch else None
        assert t._cache_size == 1


CONSTRAINTS: dict[str, list[Any]] = {
    "boolean": [[0.0, 1.0, 0.5]],
    "one_hot": [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.5, 0.5, 0.0]],
    "nonnegative_integer": [[0.0, -1.0, 1.5]],
    "positive_integer": [[0.0, 1.0, 2.0]],
    "integer_interval(0, 3)": [[0.0, 4.0, 2.5]],
    "real": [[float("nan"), float("inf"), 0.0]],
    "real_vector": [[float("nan"), 0.0], [1.0, 2.0]],
    "positive": [[0.0, 1.0, -1.0]],
    "nonnegative": [[0.0, 1.0, -1.0]],
    "greater_than(1)": [[0.0, 1.0, 2.0]],
    "greater_than_eq(1)": [[0.0, 1.0, 2.0]],
    "less_than(1)": [[0.0, 1.0, 2.0]],
    "multinomial(3)": [[1.0, 2.0], [2.0, 2.0], [-1.0, 2.0]],
    "unit_interval": [[0.0, 1.0, 1.5]],
    "half_open_interval(0, 1)": [[0.0, 1.0, 0.5]],
    "simplex": [[0.5, 0.5], [0.5, 0.6], [-0.5, 1.5]],
    "lower_triangular": [[[1.0, 0.0], [2.0, -1.0]], [[1.0, 1.0], [0.0, 1.0]]],
    "lower_cholesky": [[[1.0, 0.0], [2.0, -1.0]], [[1.0, 0.0], [0.0, 1.0]]],
    "corr_cholesky": [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.6]]],
    "square": [[[1.0, 0.0], [0.6, 0.8]]],
    "symmetric": [[[1.0, 0.5], [0.5, 1.0]], [[1.0, 0.5], [0.4, 1.0]]],
    "positive_semidefinite": [[[2.0, 1.0], [1.0, 2.0]], [[1.0, 3.0], [3.0, 1.0]]],
    "positive_definite": [[[2.0, 1.0], [1.0, 2.0]], [[1.0, 3.0], [3.0, 1.0]]],
    "independent(positive, 1)": [[0.5, 1.0], [-1.0, 1.0]],
    "cat([positive, unit_interval], -1, [1, 2])": [[2.0, 0.5, 1.0], [-1.0, 2.0, 0.0]],
    "stack([positive, unit_interval], 0)": [[2.0, 0.5, 1.0], [-1.0, 2.0, 0.0]],
    "MixtureSameFamilyConstraint(positive)": [[2.0, -0.5]],
    "dependent": [[0.0]],
    "dependent(is_discrete=True, event_dim=1)": [[0.0]],
    "cat([positive], lengths=[1, 2])": [[0.0]],
    "independent(positive, -1)": [[0.0]],
    "independent(3, 1)": [[0.0]],
}


@pytest.mark.parametrize("text", CONSTRAINTS)
def test_constraint(text: str) -> None:
    results = []
    for library in (torch, wengert):
        K = library.distributions.constraints
        c = outcome(lambda K=K: eval(text, vars(K)))
        value = library.tensor(CONSTRAINTS[text], dtype=library.float64)
        results.append([outcome(lambda c=c: c.check(value)) if not isinstance(c, Exception) else c, repr(c)]
                       + [outcome(lambda c=c, n=n: getattr(c, n)) for n in ("event_dim", "is_discrete")])
    for theirs, ours in zip(*results):
        if isinstance(theirs, torch.Tensor):
            assert theirs.tolist() == ours.tolist()
        elif isinstance(theirs, AttributeError):
            assert isinstance(ours, AttributeError)
        else:
            same(theirs, ours, text)
