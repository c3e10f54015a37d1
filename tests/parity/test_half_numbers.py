"""Numbers beside tensors of 16 bits, and gradients of arguments beside others that want none, on both libraries."""

from __future__ import annotations

import operator

import pytest

import wengert

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
