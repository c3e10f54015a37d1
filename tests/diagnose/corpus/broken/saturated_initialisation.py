"""Weights of deviation 20 before a sigmoid."""

import torch
from torch import nn


def initialise(module):
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=20.0)  # expect: saturated


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 30), nn.Sigmoid(), nn.Linear(30, 1))  # or: saturated
net.apply(initialise)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(8):
    x = torch.randn(20, 10)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
