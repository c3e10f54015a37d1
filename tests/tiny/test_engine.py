"""The backward pass of ``wengert.tiny``: order, sharing, depth, memory; its optimizer and its training."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import weakref
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import wengert as torch
from wengert import tiny
from wengert.tiny import Tensor, topological_order

EXAMPLE = Path(__file__).parents[2] / "examples" / "tiny_digits.py"


def doublings(x, count):
    for _ in range(count):
        x = x + x
    return x


def test_a_hundred_thousand_operations():
    x = Tensor(1.0, requires_grad=True)
    y = x
    for i in range(100_000):
        y = y + 1 if i % 2 else -y
    y.backward()
    assert x.grad == 1 and len(topological_order(y)) == 100_001


def test_recursion_ends_where_the_stack_does():
    x = Tensor(1.0, requires_grad=True)
    y = x
    for _ in range(sys.getrecursionlimit()):
        y = y + 1
    with pytest.raises(RecursionError):
        y.backward_recursive()
    x.zero_grad()
    y.backward()
    assert x.grad == 1


def test_a_shared_tensor_is_visited_once(monkeypatch):
    calls = []
    apply = tiny.AddBackward.apply
    monkeypatch.setattr(tiny.AddBackward, "apply", lambda self, g: calls.append(self) or apply(self, g))
    x = Tensor(1.0, requires_grad=True)
    y = doublings(x, 60)  # 2^60 paths
    y.backward()
    assert x.grad == 2.0**60 and len(calls) == 60


def test_recursion_takes_every_path():
    for count in range(10):
        x, z = Tensor(1.0, requires_grad=True), Tensor(1.0, requires_grad=True)
        y = doublings(x, count)
        assert y.backward_recursive() == 2 ** (count + 1) - 1 and len(topological_order(y)) == count + 1
        doublings(z, count).backward()
        assert x.grad == z.grad == 2**count


def random_graph(random, leaves, steps):
    """A sum of random operations on random earlier results."""
    tensors = list(leaves)
    for _ in range(steps):
        a, b = (tensors[i] for i in random.integers(len(tensors), size=2))
        kind = random.integers(5)
        tensors.append([a + b, a - b, a * b * 0.5, tiny.Tanh()(a), (a @ b.T) @ b * 0.1][kind])
    total = tensors[len(leaves)].sum()
    for t in tensors[len(leaves) + 1 :]:
        total = total + t.mean()
    return total


@pytest.mark.parametrize("seed", range(20))
def test_both_backward_passes_agree(seed):
    arrays = np.random.default_rng(seed).normal(size=(3, 2, 2)) * 0.5
    grads, shared = [], False
    for backward in (Tensor.backward, Tensor.backward_recursive):
        leaves = [Tensor(a, requires_grad=True, dtype=np.float64) for a in arrays]
        total = random_graph(np.random.default_rng(seed), leaves, 8)
        shared |= (backward(total) or 0) > len(topological_order(total))
        grads.append([np.zeros((2, 2)) if t.grad is None else t.grad for t in leaves])
    assert shared
    np.testing.assert_allclose(grads[0], grads[1], rtol=1e-10, atol=1e-12)


def test_order_is_topological():
    leaves = [Tensor(np.ones((2, 2)), requires_grad=True) for _ in range(3)]
    order = topological_order(random_graph(np.random.default_rng(0), leaves, 30))
    place = {id(t): i for i, t in enumerate(order)}
    assert len(place) == len(order) > 30
    for t in order:
        if t._grad_fn is not None:
            assert all(place[id(s)] < place[id(t)] for s in t._grad_fn.saved_tensors if s.requires_grad)


def test_data_is_not_visited():
    x, w = Tensor([1.0]), Tensor([2.0], requires_grad=True)
    y = x * w
    assert list(map(id, topological_order(y))) == [id(w), id(y)]


def test_gradients_share_no_memory():
    a, b = Tensor([1.0, 2.0], requires_grad=True), Tensor([1.0, 2.0], requires_grad=True)
    seed = np.ones(2, dtype=np.float32)
    (a + b).backward(seed)
    a.grad[0] = 7
    assert b.grad.tolist() == seed.tolist() == [1, 1]
    c = Tensor([1.0, 2.0], requires_grad=True)
    c.sum().backward()
    c.grad += 1  # not a window onto one number
    assert c.grad.tolist() == [2, 2]


def test_a_graph_is_freed_without_the_cycle_collector():
    x = Tensor(np.ones(3), requires_grad=True)
    hidden = tiny.Sigmoid()(x * 2)
    loss = tiny.Softmax()(hidden).sum()
    loss.backward()
    alive = weakref.ref(hidden)
    gc.disable()
    try:
        del hidden
        assert alive() is not None  # pinned by the graph
        kept = loss.item()
        del loss
        assert alive() is None and kept == pytest.approx(1)
    finally:
        gc.enable()


def saved_bytes(loss, parameters):
    """The memory of all that a graph keeps alive, parameters apart."""
    apart = {id(p) for p in parameters}
    saved = {id(s): s.data for t in topological_order(loss) if t._grad_fn is not None
        for s in t._grad_fn.saved_tensors if id(s) not in apart}
    return sum(a.nbytes for a in saved.values())


def test_what_five_layers_keep():
    sizes = [784, 512, 256, 128, 10]
    layers = [tiny.Linear(a, b, bias=False) for a, b in pairwise(sizes)]
    model = tiny.Sequential(*layers)
    scores = model(Tensor(np.ones((64, 784))))
    parameters = model.parameters()
    inputs = saved_bytes(scores, parameters)
    assert inputs == 64 * (784 + 512 + 256 + 128) * 4
    assert inputs + scores.data.nbytes == 64 * sum(sizes) * 4 == 432_640  # 422.5 KB
    with tiny.no_grad():
        assert saved_bytes(model(Tensor(np.ones((64, 784)))), parameters) == 0


def test_steps_are_those_of_the_big_engine():
    start = np.random.default_rng(0).normal(size=(2, 3))
    small = Tensor(start, requires_grad=True, dtype=np.float64)
    big = torch.tensor(start, requires_grad=True)
    settings = dict(lr=0.1, momentum=0.9, weight_decay=0.01)
    optimizers = tiny.SGD([small], **settings), torch.optim.SGD([big], **settings)
    for _ in range(10):
        for p, optimizer in zip((small, big), optimizers):
            optimizer.zero_grad()
            ((p * p * p).sum() * 0.1).backward()
            optimizer.step()
    np.testing.assert_allclose(small.data, big.detach().numpy(), rtol=1e-12)


def test_a_network_has_the_gradients_of_the_big_engine():
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(6, 4)).astype(np.float32), random.integers(3, size=6)
    model = tiny.Sequential(tiny.Linear(4, 8), tiny.GELU(), tiny.Linear(8, 8), tiny.ReLU(), tiny.Linear(8, 3))
    big = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 8), torch.nn.ReLU(),
        torch.nn.Linear(8, 3))
    with torch.no_grad():
        for ours, theirs in zip(model.parameters(), big.parameters()):
            theirs.copy_(torch.tensor(ours.data.T))
    loss = tiny.CrossEntropyLoss()(model(Tensor(X)), Y)
    expected = torch.nn.functional.cross_entropy(big(torch.tensor(X)), torch.tensor(Y))
    loss.backward()
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    for ours, theirs in zip(model.parameters(), big.parameters()):
        np.testing.assert_allclose(ours.grad, theirs.grad.numpy().T, rtol=1e-4, atol=1e-6)


def test_exclusive_or_is_learned():
    np.random.seed(1)
    X, Y = Tensor([[0, 0], [0, 1], [1, 0], [1, 1]]), Tensor([[0], [1], [1], [0]])
    model = tiny.Sequential(tiny.Linear(2, 8), tiny.Tanh(), tiny.Linear(8, 1), tiny.Sigmoid())
    optimizer = tiny.SGD(model.parameters(), lr=1.0, momentum=0.9)
    for _ in range(300):
        loss = tiny.BinaryCrossEntropyLoss()(model(X), Y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05 and ((model(X) > 0.5) == Y).data.all()


def test_attention_learns():
    """Queries, keys and values: products of stacks, transposes, softmax."""
    np.random.seed(0)
    X = Tensor(np.random.randn(2, 5, 4))
    Q, K, V = (tiny.Linear(4, 4) for _ in range(3))
    weights = tiny.Softmax()(Q(X) @ K(X).transpose(-2, -1) / 2.0)
    (weights @ V(X)).mean().backward()
    for layer in (Q, K, V):
        assert layer.weight.grad.shape == (4, 4) and np.abs(layer.weight.grad).sum() > 0


@pytest.mark.parametrize("seed", [0, 1])
def test_digits(seed):
    """The example, as one runs it."""
    pytest.importorskip("sklearn")
    command = [sys.executable, str(EXAMPLE), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    last = re.fullmatch(r"trained for ([\d.]+) s, test accuracy ([\d.]+)%", done.stdout.splitlines()[-1])
    assert float(last[2]) >= 95 and float(last[1]) < 20
