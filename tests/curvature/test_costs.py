"""What the first product with a Hessian costs, in what does not depend on the machine: bytes, and steps of walks."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import wengert as torch
from wengert import curvature
from wengert.arrays import kernels

nn, F = torch.nn, torch.nn.functional


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.first, self.second, self.heads = nn.LayerNorm(width), nn.LayerNorm(width), heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, t, width = x.shape
        parts = self.qkv(self.first(x)).view(n, t, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(*parts.unbind(0), is_causal=True).transpose(1, 2).reshape(n, t, width)
        x = x + self.out(seen)
        return x + self.down(F.gelu(self.up(self.second(x))))


def perceptron():
    layers = [layer for _ in range(5) for layer in (nn.Linear(256, 256), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(256, 10)), nn.MSELoss(), torch.randn(256, 256), torch.randn(256, 10)


def convolutions(norm, act):
    def layers(before, after):
        return nn.Conv2d(before, after, 3, padding=1), norm(after), act()

    end = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)
    return (nn.Sequential(*layers(3, 16), *layers(16, 16), *end), nn.CrossEntropyLoss(), torch.randn(8, 3, 24, 24),
        torch.randint(0, 10, (8,)))


def transformer():
    model = nn.Sequential(nn.Embedding(32, 64), Block(64, 4), Block(64, 4), nn.Linear(64, 32))
    return nn.Sequential(model, nn.Flatten(0, 1)), nn.CrossEntropyLoss(), torch.randint(0, 32, (8, 32)), torch.randint(
        0, 32, (256,))


class Last(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.LSTM(32, 64, batch_first=True), nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.layer(x)[0][:, -1])


CASES = {
    "perceptron": perceptron, "group norm": lambda: convolutions(lambda c: nn.GroupNorm(4, c), nn.ReLU),
    "batch norm": lambda: convolutions(nn.BatchNorm2d, nn.GELU), "transformer": transformer,
    "LSTM": lambda: (Last(), nn.CrossEntropyLoss(), torch.randn(16, 16, 32), torch.randint(0, 10, (16,))),
}


def peak(f, twice=False):
    if twice:
        f()
    gc.collect()
    torch.cpu.reset_peak_memory_stats()
    before = torch.cpu.memory_allocated()
    f()
    return torch.cpu.max_memory_allocated() - before


@pytest.mark.skipif(not kernels.available, reason="the native extension counts memory")
@pytest.mark.parametrize("case", CASES)
def test_a_product_takes_less_than_three_times_the_memory_of_a_gradient(case):
    torch.manual_seed(0)
    model, loss, x, y = CASES[case]()
    params = list(model.parameters())
    v = np.ones(sum(p.numel() for p in params), params[0].numpy(force=True).dtype)

    H = curvature.Hessian(model, loss, [(x, y)])
    gradient = peak(lambda: torch.autograd.grad(loss(model(x), y), params), twice=True)
    products = [peak(lambda: H @ v) for _ in range(3)]  # the second notes the state and keeps its graph, if it may
    assert products[0] < 2.5 * gradient and products[1] < 3 * gradient and products[2] < 2.5 * gradient


def reached(tensors):
    seen, stack = set(), [t._wg_edge[0] for t in tensors if t._wg_edge is not None]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack += [edge[0] for edge in node.edges if edge is not None]
    return seen


@pytest.mark.parametrize(("case", "most"), [("perceptron", 3.2), ("group norm", 2.5), ("batch norm", 2.5),
    ("transformer", 2.7), ("LSTM", 3.2)])
def test_the_graph_of_a_gradient_has_few_more_nodes_than_that_of_the_loss(case, most):
    torch.manual_seed(0)
    model, loss, x, y = CASES[case]()
    value = loss(model(x), y)
    once = len(reached([value]))
    slopes = torch.autograd.grad(value, list(model.parameters()), create_graph=True)
    assert len(reached(slopes)) < most * once
