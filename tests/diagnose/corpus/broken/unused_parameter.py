"""A scale that forward() forgets."""

import torch
from torch import nn


class ScaledNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(dim))  # expect: unused 0.gain
        self.shift = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        x = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6)
        return x + self.shift


torch.manual_seed(0)
net = nn.Sequential(ScaledNorm(4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    x = torch.randn(6, 4)
    loss = (net(x) - x[:, 1:2]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
