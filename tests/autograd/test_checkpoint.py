"""Checkpointing: the same gradients from less memory."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def checkpoint(torch):
    return importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint


def test_gradients_and_calls(torch, checkpoint):
    calls = []

    def part(x, w):
        calls.append(torch.is_grad_enabled())
        return ((x * w).sin() * x).exp()

    found = []
    for use in (None, False, True):
        x, w = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([0.5, 1.5], [2.0, 3.0]))
        calls.clear()
        y = part(x, w) if use is None else checkpoint(part, x, w, use_reentrant=use)
        y.sum().backward()
        found.append((x.grad.tolist(), w.grad.tolist()))
        assert len(calls) == (1 if use is None else 2)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("reentrant", [False, True])
def test_random_numbers_are_drawn_again(torch, checkpoint, reentrant):
    x = torch.ones(100, requires_grad=True)
    masks = []

    def part(x):
        y = torch.nn.functional.dropout(x * 1, 0.5)
        masks.append(y.detach().clone())
        return y * y

    y = checkpoint(part, x, use_reentrant=reentrant)
    after = torch.rand(1)
    y.sum().backward()
    assert masks[0].tolist() == masks[1].tolist()
    assert torch.rand(1).item() != after.item()


def test_nested(torch, checkpoint):
    def inner(x):
        return x.exp().sin()

    def outer(x):
        return checkpoint(inner, x * 2, use_reentrant=False) * x

    x, plain = (torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True) for _ in range(2))
    checkpoint(outer, x, use_reentrant=False).sum().backward()
    ((plain * 2).exp().sin() * plain).sum().backward()
    assert x.grad.tolist() == pytest.approx(plain.grad.tolist())


def test_other_operations_the_second_time_are_an_error(torch, checkpoint):
    first = []

    def part(x):
        y = x.sin()
        if not first:
            first.append(True)
            y = y.exp()
        return y * 1

    x = torch.ones(2, requires_grad=True)
    y = checkpoint(part, x, use_reentrant=False)
    with pytest.raises(RuntimeError, match="torch.utils.checkpoint"):
        y.sum().backward()


def test_it_works_under_grad(torch, checkpoint):
    x = torch.ones(2, requires_grad=True)
    (g,) = torch.autograd.grad(checkpoint(lambda t: t.exp(), x, use_reentrant=False).sum(), x)
    assert g.tolist() == x.exp().tolist()


def test_keyword_arguments_and_several_outputs(torch, checkpoint):
    def part(x, *, scale):
        return x * scale, x.exp()

    x = torch.ones(2, requires_grad=True)
    a, b = checkpoint(part, x, use_reentrant=False, scale=3.0)
    (a.sum() + b.sum()).backward()
    assert x.grad.tolist() == pytest.approx([3.0 + 2.718281828] * 2)


@pytest.mark.parametrize("reentrant", [False, True])
def test_autocast_is_restored(torch, checkpoint, reentrant):
    seen = []

    def part(x, w):
        y = x @ w
        seen.append(y.dtype)
        return y.float().exp()

    x, w = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = checkpoint(part, x, w, use_reentrant=reentrant)
    y.sum().backward()
    assert seen == [torch.bfloat16, torch.bfloat16]
