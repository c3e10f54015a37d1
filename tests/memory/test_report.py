"""Reports of the memory of a step: they add up, and say what holds it."""

from __future__ import annotations

import json

import pytest

import wengert as torch
import wengert.memory
from tests.memory.nets import GPT
from wengert import nn
from wengert.arrays import memory

pytestmark = pytest.mark.skipif(not memory.available, reason="memory is counted by the native extension")
KINDS = ("parameters", "buffers", "gradients", "optimizer_state", "activations", "temporaries", "other")


def adds_up(found):
    for table in (found.by_kind, found.by_module, found.by_line, found.by_operator):
        assert sum(table.values()) == found.peak and all(type(n) is int and n >= 0 for n in table.values())
    assert tuple(found.by_kind) == KINDS
    assert max(held for _, held in found.timeline) <= found.peak
    seconds = [t for t, _ in found.timeline]
    assert seconds == sorted(seconds) and seconds[0] >= 0


def nbytes(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def test_a_step_with_an_optimizer():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 8))
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(2000, 64)

    def step():
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    step()
    torch.cpu.reset_peak_memory_stats()
    found = wengert.memory.report(step, model=model, optimizer=optimizer)
    assert found.peak == torch.cpu.max_memory_allocated()
    adds_up(found)
    assert found.by_kind["parameters"] == nbytes(model.parameters())
    assert found.by_kind["buffers"] == nbytes(model.buffers())
    assert found.by_kind["optimizer_state"] == sum(nbytes(s.values()) for s in optimizer.state.values())
    assert found.by_kind["activations"] > 2 * nbytes([x])
    # what the first layer gave is kept for the norm's backward, what that gave is not kept
    assert found.by_module["0"] >= nbytes([x, *model[0].parameters()]) and found.by_module["1"] < nbytes([x])
    here = [line for line in found.by_line if line.startswith(f"{__file__}:")]
    assert sum(found.by_line[line] for line in here) >= found.by_kind["temporaries"] > 0
    assert "linear" in found.by_operator and found.result.shape == ()
    assert found.by_kind["gradients"] <= nbytes(model.parameters())


def test_gradients_that_were_there_and_those_that_come():
    model = nn.Linear(300, 300, bias=False)
    x = torch.ones(2, 300)
    model(x).sum().backward()
    found = wengert.memory.report(lambda: model(x).sum().backward(), model=model)
    adds_up(found)
    assert found.by_kind["gradients"] == found.by_kind["parameters"] == 360_000
    model.weight.grad = None
    found = wengert.memory.report(lambda: model(x).sum().backward(), model=model)
    adds_up(found)
    assert 360_000 <= found.by_kind["gradients"] + found.by_kind["temporaries"] < 380_000
    assert found.by_module[""] >= 720_000


def test_what_an_operation_needs_inside_is_its_own():
    x = torch.randn(400, 400)
    found = wengert.memory.report(lambda: torch.linalg.svd(x))
    adds_up(found)
    assert found.by_kind["temporaries"] + found.by_kind["activations"] > 3 * nbytes([x])


def test_modules_have_their_names():
    model = GPT()
    tokens = torch.randint(40, (8, 32))
    found = wengert.memory.report(lambda: model(tokens, tokens).backward(), model=model)
    adds_up(found)
    assert {"blocks.0.mlp.0", "blocks.3.mlp.1", "tokens"} <= set(found.by_module)


def test_texts(tmp_path):
    model = nn.Sequential(*[nn.Linear(20, 20) for _ in range(20)])
    found = wengert.memory.report(lambda: model(torch.ones(50, 20)).sum().backward(), model=model)
    table = found.table()
    assert all(f"by {what}" in table for what in ("kind", "module", "line", "operator")) and " more" in table
    values = json.loads(found.to_json())
    assert values["peak"] == found.peak and values["by_kind"] == found.by_kind
    assert values["by_line"] == found.by_line and len(values["timeline"]) == len(found.timeline)
    text = found.svg(tmp_path / "memory.svg")
    assert text.startswith("<svg") and (tmp_path / "memory.svg").read_text() == text
    assert "memory report" in repr(found)
    with pytest.raises(TypeError, match="function"):
        wengert.memory.report(3)
    assert wengert.memory.memory_summary(abbreviated=True).splitlines() == torch.cpu.memory_summary(
        abbreviated=True).splitlines()
