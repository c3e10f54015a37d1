"""Rules about steps, optimizers and modes, in programs that watch a part of themselves."""

from __future__ import annotations

import copy

import pytest

import wengert as torch
from wengert import nn
from wengert.diagnose import Report, explain, watch


def step(model, optimizer, x=None, clear=True):
    x = torch.randn(8, 3) if x is None else x
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    if clear:
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def ids(report: Report) -> list[str]:
    return [f.id for f in report if f.severity != "info"]


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.Dropout(0.1), nn.Linear(6, 1))


def test_made_before():
    """The optimizer was made before the diagnosis: the place is where the variable that has it got it."""
    model = net()
    optimizer = torch.optim.SGD(model[0].parameters(), lr=0.01)
    with watch(model, optimizer) as report:
        for _ in range(3):
            step(model, optimizer)
    (found,) = report
    assert (found.id, found.severity) == ("not-in-optimizer", "warning")  # a choice, perhaps: below one child
    assert found.place.text.startswith("optimizer = torch.optim.SGD(")
    assert found.parameters == ["1.weight", "1.bias", "3.weight", "3.bias"]


def test_stale_once():
    """One finding, however many steps there are; and none when the gradients are cleared."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    with watch(model, optimizer) as report:
        for _ in range(20):
            step(model, optimizer, clear=False)
    assert ids(report) == ["stale-gradient"]
    optimizer.zero_grad()
    with watch(model, optimizer) as report:
        for _ in range(20):
            step(model, optimizer)
    assert ids(report) == []


def test_gradients_put_in_place():
    """Gradients that the program replaces, or clears past the version counter, are not those of earlier steps."""
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def anew():
        w.grad = torch.zeros_like(w)

    def past():
        w.grad.data.zero_()

    def through_numpy():
        w.grad.numpy()[:] = 0

    for clear in (anew, past, through_numpy):
        with watch(optimizer) as report:
            for _ in range(4):
                (w * 2).sum().backward()
                optimizer.step()
                clear()
        assert ids(report) == [], clear.__name__


def test_copies_are_known():
    with watch() as report:
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        other = copy.deepcopy(model)
        for _ in range(3):
            step(other, optimizer)
            other.zero_grad()
    (found,) = [f for f in report if f.severity != "info"]
    assert found.id == "optimizer-holds-other"
    assert found.place.text == "other = copy.deepcopy(model)"
    assert found.parameters == [name for name, _ in model.named_parameters()]


def test_evaluation_mode():
    with watch() as report:
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(2):
            step(model, optimizer)
        model.eval()
        step(model, optimizer)
        assert ids(report) == []  # one step may be meant
        step(model, optimizer)
    (found,) = report
    assert found.id == "eval-training"
    assert found.place.text == "model.eval()"
    assert any("BatchNorm1d" in text and "Dropout" in text for text in found.evidence)


@pytest.mark.parametrize("way", [torch.no_grad, torch.inference_mode])
def test_evaluations_without_a_finding(way):
    """In evaluation mode; of a model without modes; by the package's own code; where train() was called for it."""
    with watch() as report:
        model, plain = net(), nn.Linear(3, 1)
        optimizer = torch.optim.SGD([*model.parameters(), *plain.parameters()], lr=0.01)
        loader = [torch.randn(8, 3) for _ in range(3)]
        for _ in range(5):
            step(model, optimizer)
        with way():
            plain(loader[0])
        torch.optim.swa_utils.update_bn(loader, model)
        model.eval()
        with way():
            model(loader[0])
        model.train()
        with way():
            model(loader[0])
    assert [f.id for f in report if f.id != "unused"] == []


def test_non_scalar_is_explained():
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError) as caught, watch():
        (x * 2).backward()
    (found,) = explain(caught.value).findings
    assert found.id == "non-scalar-backward"
    assert any("non-scalar-backward" in note for note in caught.value.__notes__)


def test_empty_list():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = {"a": [nn.Linear(2, 2)]}

    with pytest.raises(ValueError, match="empty parameter list") as caught, watch():
        torch.optim.SGD(Net().parameters(), lr=0.1)
    (found,) = explain(caught.value).findings
    assert found.id == "not-in-optimizer"


def test_update_ratio_of_one_step():
    """A single step is no proof."""
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=100.0)
    with watch(model, optimizer) as report:
        step(model, optimizer)
    assert ids(report) == []


def test_accumulation_is_told_by_the_loss():
    """The same loop with a mean, with a mean that is divided, with a sum, and with gradients that are divided."""
    def run(scale, divide=1):
        torch.manual_seed(0)
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        with watch(model, optimizer) as report:
            for _ in range(4):
                optimizer.zero_grad()
                for _ in range(4):
                    x = torch.randn(6, 3)
                    scale((model(x) - x[:, :1]).pow(2)).backward()
                for p in model.parameters():
                    p.grad.div_(divide)
                optimizer.step()
        return ids(report)

    assert run(torch.mean) == ["accumulation-scale"]
    assert run(lambda v: v.mean() / 4) == run(torch.sum) == run(torch.mean, 4) == []
    assert run(lambda v: v.sum() / 24) == []  # the size of the whole batch
    assert run(lambda v: v.sum() / 6) == ["accumulation-scale"]
