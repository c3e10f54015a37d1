"""Numbers: NaN and inf found after the fact, what masks them, and how gradients change over layers and steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

import wengert as torch
from wengert import diagnose, nn
from wengert.diagnose.record import Record
from wengert.diagnose.rules.values.flow import Norms, gradient_norm
from wengert.diagnose.rules.values.replay import is_finite, range_of, replay


@pytest.mark.parametrize(("values", "expected"), [([1.0, 2.0], True), ([], True), ([1e30, -1e30], True),
    ([1.0, np.nan], False), ([np.inf], False), ([np.inf, -np.inf], False)])
@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "c16"])
def test_is_finite(values: list[float], expected: bool, kind: str) -> None:
    with np.errstate(over="ignore"):
        a = np.array(values, kind)
    assert is_finite(a) == (expected and bool(np.isfinite(a).all()))
    assert is_finite(np.array([1, 2]))


def test_range() -> None:
    assert range_of(np.array([0.0, 2.0, np.nan], "f4")) == "float32 (3,), from 0 to 2 (1 of 3 are 0, 1 NaN)"
    assert range_of(np.array(3.0)) == "float64 3"


def names(loss: torch.Tensor) -> list[str]:
    origin = replay(loss._wg_edge)
    assert origin is not None
    return [root.name for root in origin.roots]


def test_replay_finds_the_first_operation() -> None:
    w = torch.tensor([0.0, 1.0], requires_grad=True)
    assert names((w.log() * 2 + 1).sum()) == ["log"]
    assert names((w.exp() * 100).exp().mean()) == ["exp"]
    assert names(((w - w) / (w - w)).sum()) == ["div"]


def test_replay_passes_what_is_masked() -> None:
    w = torch.tensor([0.0, 1.0], requires_grad=True)
    hidden = torch.where(w > 0, w.log(), torch.zeros(2))
    assert names(hidden.sum() + (w - 2).sqrt().sum()) == ["sqrt"]


def test_replay_takes_the_inf_of_a_mask_for_given() -> None:
    w = torch.zeros(2, 3, requires_grad=True)
    scores = (w * 2).masked_fill(torch.tensor([[True] * 3, [False] * 3]), -math.inf)
    assert names(torch.softmax(scores, 1).sum()) == ["softmax"]


def test_replay_of_a_loss_of_unknown_values() -> None:
    w = torch.zeros(4, requires_grad=True)
    assert names((w * 2)[torch.zeros(4, dtype=torch.bool)].mean()) == ["mean"]


def test_gradient_norm() -> None:
    w, b = nn.Parameter(torch.zeros(1, 2)), nn.Parameter(torch.zeros(2))
    w.grad, b.grad = torch.tensor([[3.0, 4.0]]), torch.tensor([100.0, 0.0])
    assert gradient_norm(Record().held(torch.optim.SGD([w, b], lr=0.1))) == 5
    assert gradient_norm(Record().held(torch.optim.SGD([b], lr=0.1))) == 100
    w.grad = torch.tensor([[1e25, 0.0]])
    assert gradient_norm(Record().held(torch.optim.SGD([w], lr=0.1))) == pytest.approx(1e25)
    w.grad = torch.tensor([[math.nan, 0.0]])
    assert math.isnan(gradient_norm(Record().held(torch.optim.SGD([w], lr=0.1))))


def test_norms_are_bounded() -> None:
    norms = Norms()
    for i in range(1000):
        norms.add(float(i))
    assert len(norms.recent) <= 64
    assert norms.top == 999
    assert norms.first == [0, 1, 2, 3, 4]


def test_one_finding_for_one_nan() -> None:
    w = nn.Parameter(torch.tensor([0.0, 1.0]))
    optimizer = torch.optim.SGD([w], lr=0.1)
    with diagnose.watch(optimizer) as report:
        for _ in range(4):
            loss = torch.where(w > 0, w.log(), 0.0).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert [f.id for f in report] == ["masked-nan"]
    assert any("the operation that is masked: Log" in text for text in report[0].evidence)


def test_gradients_that_the_program_repairs_are_no_finding() -> None:
    w = nn.Parameter(torch.tensor([0.0, 1.0]))
    optimizer = torch.optim.SGD([w], lr=0.1)
    with diagnose.watch(optimizer) as report:
        for _ in range(4):
            loss = w.sqrt().sum()
            optimizer.zero_grad()
            loss.backward()
            w.grad = torch.nan_to_num(w.grad, posinf=0.0)
            optimizer.step()
    assert not report.at_least("warning")


def test_gradcheck_notes_its_error() -> None:
    x = torch.tensor([0.0], dtype=torch.float64, requires_grad=True)
    with diagnose.watch() as report:
        assert not torch.autograd.gradcheck(torch.relu, x, raise_exception=False)
    assert [f.id for f in report] == ["gradcheck-kink"]
    with pytest.raises(RuntimeError) as caught, diagnose.watch():
        torch.autograd.gradcheck(torch.relu, x)
    assert any("gradcheck-kink" in text for text in caught.value.__notes__)
