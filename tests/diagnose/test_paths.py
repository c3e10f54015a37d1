"""Parameters without gradients: what ``explain`` says of one tensor, and the search behind the verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import wengert
import wengert as torch
from wengert import nn
from wengert.diagnose import sessions, watch

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def nothing_before() -> Iterator[None]:
    """``explain`` also asks the last diagnosis: there is none."""
    last, sessions.last = sessions.last, None
    yield
    sessions.last = last


class Net(nn.Module):
    def __init__(self, cut: bool = True) -> None:
        super().__init__()
        self.first, self.second, self.spare = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(2, 2)
        self.cut = cut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.first(x)
        return self.second(h.detach() if self.cut else h)


def trained(net: nn.Module, steps: int = 2, clear: bool = True) -> torch.optim.Optimizer:
    """Make some steps."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        if clear:
            optimizer.zero_grad()
        net(torch.ones(2, 3)).sum().backward()
        optimizer.step()
    return optimizer


class TestWithoutDiagnosis:
    def test_result(self) -> None:
        w = torch.ones(2, requires_grad=True)
        text = str(wengert.explain(w * 2))
        assert text.startswith("The tensor was made by MulBackward0; backward() from it reaches w.")
        assert "retain_grad()" in text

    def test_kept_gradient_of_a_result(self) -> None:
        y = torch.ones(2, requires_grad=True) * 2
        y.retain_grad()
        y.sum().backward()
        assert str(wengert.explain(y)).endswith("Its .grad was kept, as retain_grad() asks.")

    def test_leaf(self) -> None:
        w = torch.ones(2, requires_grad=True)
        assert str(wengert.explain(w)).startswith("w is a leaf that requires a gradient, and no backward() has")
        w.sum().backward()
        assert "filled when no diagnosis was on" in str(wengert.explain(w))
        w.grad.zero_()
        assert str(wengert.explain(w)).endswith("All of its elements are zero.")

    def test_what_cannot_have_a_gradient(self) -> None:
        assert "only tensors of floating point" in str(wengert.explain(torch.ones(2, dtype=torch.long)))
        with torch.inference_mode():
            z = torch.ones(2)
        assert "inference tensor" in str(wengert.explain(z))
        assert "requires_grad is False" in str(wengert.explain(nn.Parameter(torch.ones(1), requires_grad=False)))

    def test_other_objects(self) -> None:
        with pytest.raises(TypeError, match="takes a tensor, a parameter or an exception, not int"):
            wengert.explain(3)


def test_made_before() -> None:
    """The places of what was made before the diagnosis began are read in the source."""
    net = Net(cut=False)
    frozen = nn.Sequential(nn.Linear(3, 3),
        nn.Linear(3, 3), nn.Dropout())
    frozen[0].requires_grad_(False)
    frozen.eval()
    optimizer = torch.optim.SGD([{"params": frozen[0].parameters()}, {"params": net.parameters()}], 0.1)
    with watch(net, frozen, optimizer) as report:
        for _ in range(3):
            optimizer.zero_grad()
            net(frozen[0](torch.ones(2, 3))).sum().backward()
            optimizer.step()
    found = {f.id: f for f in report}
    assert sorted(found) == ["frozen", "unused"]
    assert "self.spare" in found["unused"].place.text
    assert found["frozen"].place.text.startswith("optimizer = ")


def test_a_part_made_before() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(),
        nn.Linear(3, 3))
    model.eval()
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    with watch(model, optimizer) as report:
        for _ in range(3):
            optimizer.zero_grad()
            model[1](model[0](torch.ones(2, 3))).sum().backward()
            optimizer.step()
    found = {f.id: f for f in report}
    assert sorted(found) == ["eval-training", "unused"]
    assert found["unused"].place.text == "nn.Linear(3, 3))"
    assert found["eval-training"].place.text.startswith("with watch(")


def test_gradients_were_off_before() -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with torch.no_grad(), pytest.raises(RuntimeError), watch(model, optimizer) as report:
        model(torch.ones(2, 3)).sum().backward()
    assert [f.id for f in report] == ["no-grad-training"]


def test_much_is_computed_before_the_first_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("tracer", "watching"):
        monkeypatch.setattr(f"wengert.diagnose.{module}.LIMIT", 40)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with pytest.raises(RuntimeError), watch(model, optimizer) as report:
        x = torch.ones(2, 3)
        for _ in range(100):
            x = x * 0.99
        model(x).detach().sum().backward()
    assert [f.id for f in report] == ["cut-detach"]


class TestLeaves:
    def test_cut(self) -> None:
        with watch():
            net = Net()
            trained(net)
            during = wengert.explain(net.first.weight)
        after = wengert.explain(net.first.weight)
        for found in (during, after):
            assert [f.id for f in found.findings] == ["cut-detach"]
            assert found.findings[0].parameters == ["first.weight"]
            assert found.text == "first.weight is a leaf that requires a gradient; no backward() has given it one:"

    def test_unused(self) -> None:
        with watch():
            net = Net(cut=False)
            trained(net)
            found = wengert.explain(net.spare.bias)
        assert [f.id for f in found.findings] == ["unused"]

    def test_generations(self) -> None:
        with watch():
            net = Net()
            optimizer = trained(net, 1)
            assert "holds the gradients of 1 backward (" in str(wengert.explain(net.second.weight))
            assert str(wengert.explain(net.second.weight)).endswith(" has used them.")
            net(torch.ones(2, 3)).sum().backward()
            text = str(wengert.explain(net.second.weight))
            assert "of 2 backwards" in text
            assert text.endswith("some of which a step had used before; no optimizer step has used them yet.")
            optimizer.zero_grad()
            text = str(wengert.explain(net.second.weight))
            assert "its .grad was cleared since, at" in text

    def test_captured(self) -> None:
        with watch():
            w = torch.ones(2, requires_grad=True)
            torch.autograd.grad(w.sum(), w)
            assert "autograd.grad()" in str(wengert.explain(w))

    def test_before_any_backward(self) -> None:
        with watch():
            w = torch.ones(2, requires_grad=True)
            assert str(wengert.explain(w)).endswith("has no .grad: there was no backward().")

    def test_frozen(self) -> None:
        with watch():
            net = Net()
            net.first.requires_grad_(False)
            assert "its requires_grad became False at" in str(wengert.explain(net.first.weight))


class TestResults:
    def test_names_the_cut(self) -> None:
        with watch():
            net = Net()
            net.first(torch.ones(1, 3))
            trained(net)
            h = net.first(torch.ones(2, 3)).detach() * 2
            found = wengert.explain(h)
        assert [f.id for f in found.findings] == ["cut-detach"]
        assert set(found.findings[0].parameters) == {"first.weight", "first.bias"}
        assert "It was made by mul at" in found.text

    def test_no_grad_is_no_training(self) -> None:
        with watch():
            net = Net()
            trained(net)
            with torch.no_grad():
                y = net(torch.ones(2, 3))
            found = wengert.explain(y)
        assert [f.id for f in found.findings] == ["cut-no-grad"]

    def test_data(self) -> None:
        with watch():
            found = wengert.explain(torch.ones(2) * 2)
        assert not found.findings
        assert "has no history" in found.text


class TestErrors:
    def test_nothing_has_a_history(self) -> None:
        net = Net(cut=False)
        with pytest.raises(RuntimeError, match="does not require grad") as raised, watch(net) as report:
            net(torch.ones(2, 3)).sum().detach().backward()
        assert [f.id for f in report] == ["cut-detach"]
        assert any("[cut-detach]" in note for note in raised.value.__notes__)

    def test_a_number_has_no_backward(self) -> None:
        net = Net(cut=False)
        with pytest.raises(AttributeError), watch(net, torch.optim.SGD(net.parameters(), lr=0.1)) as report:
            net(torch.ones(2, 3)).sum().item().backward()
        assert [f.id for f in report.at_least("error")] == ["cut-item"]

    def test_gradient_of_what_is_not_in_the_graph(self) -> None:
        net = Net()
        with pytest.raises(RuntimeError, match="not have been used"), watch(net) as report:
            torch.autograd.grad(net(torch.ones(2, 3)).sum(), [net.first.weight])
        assert [f.id for f in report] == ["cut-detach"]
        assert "first.weight" in report[0].parameters


class TestRecord:
    def test_a_refused_backward_keeps_no_tensor(self) -> None:
        with watch() as report, pytest.raises(RuntimeError, match="does not require grad"):
            torch.ones(1).backward()
        refused, = report.facts.refused
        assert "does not require grad" in refused.error
        assert refused.place is not None
        assert refused.root[0].tensor() is None

    def test_writes_reach_what_is_looked_at(self) -> None:
        with watch() as report:
            w = torch.ones(2, requires_grad=True)
            a, b = torch.zeros(3, 2), torch.zeros(3, 2)
            a[1] = w
            b.data[1] = w
            events = report.facts.events
            assert events.get(a).recorded
            assert (events.get(b).kind, events.get(b).name) == ("cut", "data")

    def test_results_without_a_history(self) -> None:
        with watch() as report:
            values, index = torch.ones(3, 2, requires_grad=True).max(1)
            assert report.facts.events.get(values).recorded
            assert report.facts.events.get(index).kind == "output"
