"""Noise from NumPy inside of a checkpoint."""

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

rng = np.random.default_rng(0)


def noisy(layer, x):
    noise = torch.from_numpy(rng.normal(size=x.shape)).float()  # expect: checkpoint-impure
    return torch.tanh(layer(x + 0.1 * noise)) ** 2


def main():
    torch.manual_seed(0)
    layers = nn.ModuleList([nn.Linear(5, 5) for _ in range(2)])
    optimizer = torch.optim.Adam(layers.parameters(), lr=0.01)
    for _ in range(3):
        h = torch.randn(7, 5)
        for layer in layers:
            h = checkpoint(noisy, layer, h, use_reentrant=False)
        optimizer.zero_grad()
        h.mean().backward()
        optimizer.step()


main()
