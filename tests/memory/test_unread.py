"""Saved values that a plain backward does not look at: no plan keeps or computes them for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as torch
from tests.memory.nets import square
from wengert import nn
from wengert.arrays import memory
from wengert.arrays import recurrent as raw
from wengert.memory.holders import nodes_since, put
from wengert.ops.operator import TABLE, Operator
from wengert.utils.checkpoint import Plan, plan

LAYERS = {"lstm_layer": nn.LSTM, "gru_layer": nn.GRU, "elman_layer": nn.RNN}


class Stack(nn.Module):
    """Layers, one over the other."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.layers = nn.ModuleList([kind(16, 16) for _ in range(3)])

    def forward(self, x: Any) -> Any:
        """The outputs of the last."""
        for layer in self.layers:
            x, _ = layer(x)
        return x


def test_every_operator_that_says_so_is_here() -> None:
    assert {name for name, op in TABLE.items() if isinstance(op, Operator) and op.unread} == set(LAYERS)


@pytest.mark.parametrize("name", LAYERS)
def test_a_plain_backward_does_not_look_at_it(name: str) -> None:
    torch.manual_seed(0)
    model, x = LAYERS[name](8, 8), torch.randn(5, 3, 8)
    wanted = torch.autograd.grad(square(model(x)[0]), list(model.parameters()))
    loss, poisoned = square(model(x)[0]), 0
    for node in nodes_since(loss, 0):
        op = getattr(node, "op", None)
        for at, saved in enumerate(op.saved if isinstance(op, Operator) else ()):
            if saved in op.unread:
                put(node, (3 * at, -1), np.full_like(node.saved[3 * at], np.nan))
                poisoned += 1
    assert poisoned == 1
    for a, b in zip(wanted, torch.autograd.grad(loss, list(model.parameters())), strict=True):
        assert np.array_equal(a.numpy(), b.numpy())


def every_block_without(found: Plan, model: Any) -> Any:
    """The model, planned so that every block keeps all but what is not looked at."""
    blocks = found.chain.blocks
    schedule = [("forward", i, min(1, len(block.options) - 1)) for i, block in enumerate(blocks)]
    schedule += [("backward", i, None) for i in reversed(range(len(blocks)))]
    return Plan(found.chain, schedule, found.plain_peak, found.layout).apply(model)


@pytest.mark.skipif(not memory.available, reason="memory is counted by the native extension")
@pytest.mark.parametrize("name", LAYERS)
def test_plans_neither_keep_nor_compute_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model, x = Stack(LAYERS[name]), torch.randn(20, 32, 16)
    found = plan(model, x, 1.0, loss=square, repeats=1, progress=False).plan
    gates = 20 * 32 * model.layers[0].weight_ih_l0.shape[0] * 4
    for block in found.chain.blocks[:3]:
        assert block.options[0].saved - block.options[1].saved > 0.9 * gates  # but for the last states
    planned = every_block_without(found, model)
    params, kind, calls = list(model.parameters()), name.removesuffix("_layer"), []
    usual = getattr(raw, kind)
    monkeypatch.setattr(raw, kind, lambda *args: calls.append(kind) or usual(*args))
    wanted = torch.autograd.grad(square(model(x)), params)
    assert len(calls) == 3
    planned(x)  # which writes the call down
    for _ in range(2):  # the second follows the first one's template
        calls.clear()
        for a, b in zip(wanted, torch.autograd.grad(square(planned(x)), params), strict=True):
            assert np.array_equal(a.numpy(), b.numpy())
        assert len(calls) == 3


@pytest.mark.skipif(not memory.available, reason="memory is counted by the native extension")
@pytest.mark.parametrize("name", LAYERS)
def test_gradients_of_gradients_look_at_it(name: str) -> None:
    torch.manual_seed(0)
    model, x = Stack(LAYERS[name]).double(), torch.randn(6, 4, 16).double()
    params = list(model.parameters())

    def second(run: Any) -> Any:
        first = torch.autograd.grad(square(run(x)), params, create_graph=True)
        return torch.autograd.grad(sum((g**2).sum() for g in first), params)

    planned = every_block_without(plan(model, x, 1.0, loss=square, repeats=1, progress=False).plan, model)
    for a, b in zip(second(model), second(planned), strict=True):
        assert np.allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-12)
