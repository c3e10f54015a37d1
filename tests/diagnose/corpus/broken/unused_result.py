"""The attention's result is dropped: the next line starts from x again."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim))
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = x + self.mix(x)  # expect: unused mix.0.weight mix.0.bias mix.1.weight mix.1.bias
        h = x + self.mlp(x)
        return h


def run(block, steps):
    optimizer = torch.optim.Adam(block.parameters(), lr=1e-3)
    losses = []
    for _ in range(steps):
        x = torch.randn(5, 6)
        loss = (block(x) - x.flip(1)).pow(2).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


torch.manual_seed(0)
run(Block(6), 5)
