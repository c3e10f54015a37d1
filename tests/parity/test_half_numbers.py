"""Numbers beside tensors of 16 bits, and gradients of arguments beside others that want none, on both libraries."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import wengert
from wengert.arrays import kernels

reference = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("f", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_a_number_first(f, kind):
    found = []
    for torch in (wengert, reference):
        y = f(3, torch.tensor([0.3, 7.0, -2.5], dtype=getattr(torch, kind)))
        found.append((str(y.dtype), y.tolist()))
    assert found[0] == found[1]


def test_only_the_bias_of_a_norm():
    found = []
    for torch in (wengert, reference):
        b = torch.zeros(4, requires_grad=True)
        torch.nn.functional.layer_norm(torch.arange(8.0).reshape(2, 4), (4,), None, b).sum().backward()
        found.append(b.grad.tolist())
    assert found[0] == found[1]


def test_only_the_vector_of_a_system():
    found = []
    for torch in (wengert, reference):
        b = torch.ones(2, requires_grad=True)
        torch.linalg.solve(torch.tensor([[2.0, 1.0], [0.0, 4.0]]), b).sum().backward()
        found.append(b.grad.tolist())
    assert found[0] == pytest.approx(found[1])


def test_what_is_not_finite_in_margins():
    found = []
    for torch in (wengert, reference):
        x = torch.tensor([[float("nan"), 1.0, 2.0], [float("inf"), 0.0, 1.0]], dtype=torch.float64)
        f = torch.nn.functional
        found.append([f.multi_margin_loss(x, torch.tensor([1, 0]), reduction="none").tolist(),
                      f.multilabel_margin_loss(x, torch.tensor([[1, -1, 0], [0, 1, -1]]),
                          reduction="none").tolist()])
    assert found[0] == found[1]


def test_slopes_of_logit_at_its_ends():
    found = []
    for torch in (wengert, reference):
        x = torch.tensor([-0.0, 0.0, 1.0, 0.3], dtype=torch.float64, requires_grad=True)
        torch.logit(x).sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]


def test_targets_of_cross_entropy_are_chances():
    for torch in (wengert, reference):
        with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
            torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.5]))


ROUNDED_ONCE = ["torch.add(a, b, alpha=0.7)", "torch.sub(a, b, alpha=0.3)", "torch.rsub(a, b, alpha=-1.7)",
    "a.clone().add_(b, alpha=2)", "1 - a", "a.clamp(-0.3, 0.7)", "a.clamp(min=0.1)", "a[:640].clamp(max=3)", "-a",
    "a.abs()", "a.floor()", "a.ceil()", "a.round()", "a.trunc()", "a.square()", "torch.where(a > b, a, 0.3)",
    "f.leaky_relu(a, 0.3)", "f.elu(a, 0.3)", "f.softplus(a, 1.3)", "f.hardtanh(a, -0.3, 0.3)", "torch.lerp(a, b, 0.3)",
    "a * (b > 0)", "(b > 0) + a", "torch.arange(4096) * b", "torch.outer(a[:64], b[:64])",
    "a.view(64, 64) * b[:64]", "a.view(64, 64) + b[:64, None]", "a.view(64, 64).t() * b[:64]",
    "f.mse_loss(a, b, reduction='none')",
    "f.binary_cross_entropy_with_logits(a, (b > 0).to(a.dtype), reduction='none')",
    "f.pad(a.view(64, 64), (1, 2, 1, 0), value=0.3)"]


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("source", ROUNDED_ONCE)
def test_all_bits_agree(kind, source):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 4096), np.float32)
    a[:5], b[3:5] = [np.nan, np.inf, -np.inf, 0, 1e-7], [0, -0.0]
    found = []
    for torch in (wengert, reference):
        names = {k: torch.tensor(v).to(getattr(torch, kind)) for k, v in (("a", a), ("b", b))}
        y = eval(source, dict(names, torch=torch, f=torch.nn.functional))
        found.append((str(y.dtype), y.double().numpy()))
    assert found[0][0] == found[1][0]
    # a product and a sum in float32 are rounded once more where NumPy does them
    others = ~((found[0][1] == found[1][1]) | np.isnan(found[0][1]) & np.isnan(found[1][1]))
    assert others.sum() <= (0 if kernels.available else 12)


SLOPES = ["a / b", "p.sqrt()", "a.square()", "a.abs()", "a.sin()", "a.cos()", "a.cosh()", "a.exp2()", "p.log()",
    "p.log1p()",
    "a.reciprocal()", "p**2.5", "a**3", "a.erf()", "a.expm1()", "torch.lerp(a, b, 0.3)", "torch.add(a, b, alpha=0.3)",
    "torch.sub(a, b, alpha=0.3)", "torch.addcmul(a, b, p, value=0.3)", "a.clamp(-0.5, 0.5)", "torch.maximum(a, b)",
    "a.view(64, 64).cumsum(-1)", "f.l1_loss(a, b, reduction='none')", "a.view(64, 64).sum(-1) * b[:64]",
    "(a.view(64, 64) * b[:64]).float()", "a.view(64, 64).gather(1, i)", "f.leaky_relu(a, 0.3)",
    "f.elu(a, 0.3)"]


@pytest.mark.skipif(not kernels.available, reason="NumPy rounds once more in some")
@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("source", SLOPES)
def test_all_bits_of_gradients_agree(kind, source):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 4096), np.float32)
    found = []
    for torch in (wengert, reference):
        leaves = [torch.tensor(v).to(getattr(torch, kind)).requires_grad_() for v in (a, b, np.abs(a) + 0.1)]
        names = dict(zip("abp", leaves), torch=torch, f=torch.nn.functional)
        y = eval(source, names, {"i": torch.tensor(np.arange(4096).reshape(64, 64) % 7)})
        y.backward(torch.tensor(np.resize(b, tuple(y.shape))).to(y.dtype))
        found.append([None if x.grad is None else x.grad.double().numpy() for x in leaves])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
