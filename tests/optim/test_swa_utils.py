"""Averages of weights."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import wengert as torch
from wengert.optim.swa_utils import (
    SWALR,
    AveragedModel,
    get_ema_avg_fn,
    get_ema_multi_avg_fn,
    get_swa_avg_fn,
    get_swa_multi_avg_fn,
    update_bn,
)


def model(value: float = 0.0) -> Any:
    made = torch.nn.Linear(2, 1)
    fill(made, value)
    return made


def fill(made: Any, value: float) -> None:
    with torch.no_grad():
        for p in made.parameters():
            p.fill_(value)


@pytest.mark.parametrize("options", [{}, {"avg_fn": get_swa_avg_fn()}, {"multi_avg_fn": get_swa_multi_avg_fn()}])
def test_equal_weights(options: dict[str, Any]) -> None:
    m = model()
    averaged = AveragedModel(m, **options)
    for value in (1.0, 2.0, 6.0):
        fill(m, value)
        averaged.update_parameters(m)
    assert averaged.module.weight.tolist() == [[pytest.approx(3.0), pytest.approx(3.0)]]
    assert averaged.n_averaged.item() == 3
    assert m.weight.tolist() == [[6.0, 6.0]]


@pytest.mark.parametrize("options", [{"avg_fn": get_ema_avg_fn(0.75)}, {"multi_avg_fn": get_ema_multi_avg_fn(0.75)}])
def test_exponential_weights(options: dict[str, Any]) -> None:
    m = model(4.0)
    averaged = AveragedModel(m, **options)
    averaged.update_parameters(m)
    fill(m, 8.0)
    averaged.update_parameters(m)
    assert averaged.module.bias.item() == pytest.approx(5.0)


def test_it_is_a_module() -> None:
    m = model(1.0)
    averaged = AveragedModel(m)
    averaged.update_parameters(m)
    assert averaged(torch.ones(1, 2)).item() == 3.0
    assert list(averaged.state_dict()) == ["n_averaged", "module.weight", "module.bias"]
    other = AveragedModel(model(5.0))
    other.load_state_dict(averaged.state_dict())
    assert other.module.weight.tolist() == [[1.0, 1.0]] and other.n_averaged.item() == 1
    assert copy.deepcopy(averaged).module is not averaged.module


def test_buffers_follow_or_are_averaged() -> None:
    for use_buffers, expected in ((False, 4.0), (True, 3.0)):
        m = torch.nn.BatchNorm1d(1)
        averaged = AveragedModel(m, use_buffers=use_buffers)
        for value in (2.0, 4.0):
            m.running_mean.fill_(value)
            averaged.update_parameters(m)
        assert averaged.module.running_mean.item() == pytest.approx(expected)


def test_refusals() -> None:
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn should be provided"):
        AveragedModel(model(), avg_fn=get_swa_avg_fn(), multi_avg_fn=get_swa_multi_avg_fn())
    for make in (get_ema_avg_fn, get_ema_multi_avg_fn):
        with pytest.raises(ValueError, match="Invalid decay value 1.5 provided"):
            make(1.5)
    o = torch.optim.SGD(model().parameters(), lr=1.0)
    with pytest.raises(ValueError, match="anneal_strategy must be one of 'cos' or 'linear', instead got up"):
        SWALR(o, 0.1, anneal_strategy="up")
    with pytest.raises(ValueError, match="anneal_epochs must be equal or greater than 0, got -1"):
        SWALR(o, 0.1, anneal_epochs=-1)
    with pytest.raises(ValueError, match="swa_lr must have the same length as optimizer.param_groups"):
        SWALR(o, [0.1, 0.2])
    assert "swa_lr" not in o.param_groups[0]


def test_annealing() -> None:
    o = torch.optim.SGD(model().parameters(), lr=1.0)
    schedule = SWALR(o, 0.5, anneal_epochs=2, anneal_strategy="linear")
    lrs = []
    for _ in range(4):
        lrs.append(o.param_groups[0]["lr"])
        o.step()
        schedule.step()
    assert lrs == pytest.approx([1.0, 0.75, 0.5, 0.5])
    state = schedule.state_dict()
    assert "anneal_func" not in state and state["_anneal_strategy"] == "linear"
    schedule.load_state_dict({**state, "_anneal_strategy": "cos"})
    assert schedule.anneal_func(0.5) == pytest.approx(0.5)


def test_statistics_are_estimated_anew() -> None:
    m = torch.nn.Sequential(torch.nn.BatchNorm1d(1, momentum=0.3))
    m.eval()
    m[0].running_mean.fill_(99.0)
    update_bn([torch.tensor([[1.0], [3.0]]), (torch.tensor([[4.0], [4.0]]), "label")], m)
    assert m[0].running_mean.item() == pytest.approx(3.0)
    assert m[0].momentum == 0.3 and not m.training
    update_bn([torch.ones(1, 2)], model())  # without such layers the data is not looked at
