"""Graphs that the tests of pictures draw."""

from __future__ import annotations

import wengert as torch
from wengert import nn


class Block(nn.Module):
    """A layer, a norm, and what goes past them."""

    def __init__(self, size: int = 4) -> None:
        super().__init__()
        self.inner, self.norm = nn.Linear(size, size), nn.LayerNorm(size)

    def forward(self, x):
        h = self.norm(torch.relu(self.inner(x)))
        return x + h * 0.5 - h.mean()


class Net(nn.Module):
    """Blocks between two layers."""

    def __init__(self, blocks: int = 2) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.blocks = nn.ModuleList([Block() for _ in range(blocks)])
        self.last = nn.Linear(4, 2)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return self.last(x)


def net(blocks: int = 2) -> Net:
    torch.manual_seed(0)
    return Net(blocks)


def chain(length: int):
    """A tensor after so many operations."""
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(length):
        y = y * 1.5
    return y
