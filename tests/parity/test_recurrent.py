"""Recurrent networks on both libraries: outputs, gradients and second derivatives, padded and packed."""

from __future__ import annotations

import os
from typing import Any

import pytest

if os.environ.get("WENGERT_REQUIRE_PARITY") != "1":
    pytest.importorskip("torch", reason="compares with PyTorch")

import numpy as np
import torch

import wengert

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

KINDS: list[tuple[str, dict[str, Any]]] = [
    ("RNN", {}),
    ("RNN", {"nonlinearity": "relu", "bidirectional": True}),
    ("GRU", {}),
    ("GRU", {"bias": False}),
    ("GRU", {"num_layers": 2, "bidirectional": True}),
    ("LSTM", {}),
    ("LSTM", {"bias": False}),
    ("LSTM", {"num_layers": 2, "bidirectional": True}),
    ("LSTM", {"proj_size": 2, "bidirectional": True}),
]


def derivatives(lib: Any, convert: Any, state: Any, x: Any, kind: str, settings: dict[str, Any], packed: bool) -> Any:
    m = getattr(lib.nn, kind)(3, 4, dtype=lib.float64, **settings)
    m.load_state_dict({key: convert(value) for key, value in state.items()})
    x = convert(x).requires_grad_()
    out, last = m(lib.nn.utils.rnn.pack_padded_sequence(x, [5, 3, 1]) if packed else x)
    out = out.data if packed else out
    states = last if isinstance(last, tuple) else (last,)
    loss = (out**3).sum() + sum((s**2).sum() for s in states)
    inputs = [x, *m.parameters()]
    first = lib.autograd.grad(loss, inputs, create_graph=True)
    second = lib.autograd.grad(sum((g**2).sum() for g in first), inputs)
    plain = lib.autograd.grad(m(x)[0].sum(), inputs)
    return [t.detach().numpy() for t in (out, *states, *first, *second, *plain)]


@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
@pytest.mark.parametrize(("kind", "settings"), KINDS)
def test_to_second_order(kind: str, settings: dict[str, Any], packed: bool) -> None:
    torch.manual_seed(0)
    state = getattr(torch.nn, kind)(3, 4, dtype=torch.float64, **settings).state_dict()
    x = torch.randn(5, 3, 3, dtype=torch.float64)
    theirs = derivatives(torch, lambda t: t.clone(), state, x, kind, settings, packed)
    ours = derivatives(wengert, lambda t: wengert.from_numpy(t.numpy().copy()), state, x, kind, settings, packed)
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-11)
