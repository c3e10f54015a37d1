"""Depth, width, memory and threads."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
import weakref

import pytest

import wengert


def test_a_million_operations_in_a_chain():
    x = wengert.ones(1, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + 1.0
    assert y.item() == 1_000_001.0
    y.backward()
    assert x.grad.item() == 1.0
    alive = weakref.ref(y.grad_fn)
    del y
    assert alive() is None


def _chain_of_views(n, kind, grad):
    """``n`` views of each other; they are differentiated, written to through their base, and freed."""
    x = wengert.linspace(0.1, 1.0, 6, dtype=wengert.float64).requires_grad_()
    with wengert.set_grad_enabled(grad):
        base = x * 1
        y = wengert.view_as_complex(base.view(3, 2)) if kind == "conj" else base.view(2, 3)
        step = {"view": lambda y: y.view(2, 3), "slice": lambda y: y[:], "transpose": lambda y: y.transpose(0, 0),
            "conj": lambda y: y.conj()}[kind]
        for _ in range(n):
            y = step(y)
        if kind == "conj":
            y = wengert.view_as_real(y)
        if grad:
            base.mul_(2.0)
            (y * y).sum().backward()
            assert wengert.equal(x.grad, 8 * x.detach())
    assert y._base is base


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("kind", ["view", "slice", "transpose", "conj"])
def test_a_chain_of_views(kind, grad):
    _chain_of_views(10_000, kind, grad)


@pytest.mark.slow
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("kind", ["view", "conj"])
def test_a_million_views_of_views(kind, grad):
    _chain_of_views(1_000_000, kind, grad)


@pytest.mark.parametrize("grad", [True, False])
def test_memory_of_a_chain_of_views_is_linear(grad):
    x = wengert.ones(4, requires_grad=True)
    with wengert.set_grad_enabled(grad):
        views = [x * 1]
        views.append(views[0].view(2, 2))
        tracemalloc.start()
        try:
            for _ in range(3_000):
                views.append(views[-1].view(2, 2))
            used = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
    assert used / 3_000 < 4_000  # copying the steps of the view before: 12,000


def test_a_wide_graph():
    x = wengert.ones(1, dtype=wengert.float64, requires_grad=True)
    parts = [x * float(i) for i in range(20_000)]
    wengert.cat(parts).sum().backward()
    assert x.grad.item() == pytest.approx(20_000 * 19_999 / 2)


def test_training_without_the_garbage_collector_does_not_grow():
    from wengert import nn

    wengert.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = wengert.optim.Adam(model.parameters(), lr=1e-3)
    x, y = wengert.randn(8, 4), wengert.randn(8, 1)

    def steps(n):
        for _ in range(n):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    steps(50)
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        steps(2_000)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
        gc.enable()
    assert grown < 100_000, f"{grown} bytes"


def test_graphs_die_at_once(torch):
    gc.disable()
    try:
        x = torch.ones(3, requires_grad=True)
        h = x * 2
        y = (h * h).sum()
        tensor = weakref.ref(h)
        del h
        y.backward()
        assert tensor() is None
        if torch is wengert:  # PyTorch's nodes cannot be referred to weakly
            node = weakref.ref(y.grad_fn)
            del y
            assert node() is None
    finally:
        gc.enable()


def test_threads_share_leaves(torch):
    x = torch.zeros(100, requires_grad=True)

    def work():
        for _ in range(50):
            (x * 1.0).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert x.grad.tolist() == [200.0] * 100


def test_recursion_limit_is_not_touched():
    assert sys.getrecursionlimit() <= 10_000


def test_backward_inside_backward(torch):
    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                y = x.detach().requires_grad_()
                (y * 3).sum().backward()
            return y.grad * g

    x = torch.ones(2, requires_grad=True)
    Nested.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
