"""Inputs are normalised batch by batch; a column is constant in one of them, and its deviation 0."""

import torch
from torch import nn


def normalise(x):
    return (x - x.mean(0)) / x.std(0)  # expect: nonfinite-forward


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ELU(), nn.Linear(8, 1))
optimizer = torch.optim.NAdam(model.parameters())
for i in range(9):
    raw = torch.randn(6, 4)
    if i == 6:
        raw[:, 1] = 2.0
    x = normalise(raw)
    loss = (model(x) - raw[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
