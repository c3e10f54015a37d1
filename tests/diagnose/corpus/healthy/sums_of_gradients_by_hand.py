"""Gradients are summed by hand over the parts of a batch: cleared, replaced or kept on purpose with momentum."""

import torch
from torch import nn

torch.manual_seed(0)
data = [(x := torch.randn(16, 3), x.sum(1, keepdim=True)) for _ in range(10)]


def gradients(model, x, y):
    return torch.autograd.grad(nn.functional.mse_loss(model(x), y), list(model.parameters()))


def cleared(model, parts):
    for p in model.parameters():
        p.grad = None
    for part in parts:
        for p, g in zip(model.parameters(), part, strict=True):
            p.grad = g / len(parts) if p.grad is None else p.grad + g / len(parts)


def zeroed(model, parts):
    for p in model.parameters():
        if p.grad is not None:
            p.grad.zero_()
    for part in parts:
        for p, g in zip(model.parameters(), part, strict=True):
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            p.grad += g / len(parts)


def replaced(model, parts):
    for p, *rows in zip(model.parameters(), *parts, strict=True):
        p.grad = sum(rows) / len(rows)


def momentum(model, parts):
    for p, *rows in zip(model.parameters(), *parts, strict=True):
        g = sum(rows) / len(rows)
        p.grad = g if p.grad is None else 0.9 * p.grad + g


for fill in (cleared, zeroed, replaced, momentum):
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for x, y in data:
        fill(net, [gradients(net, a, b) for a, b in zip(x.chunk(2), y.chunk(2), strict=True)])
        optimizer.step()
