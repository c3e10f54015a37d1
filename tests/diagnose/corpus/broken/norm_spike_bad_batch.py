"""One batch was not normalised."""

import torch
from torch import nn


def batches(n):
    for i in range(n):
        x = torch.randn(16, 6)
        yield (x * 2000 if i == 14 else x), x.sum(1, keepdim=True)  # or: norm-spike


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for x, y in batches(25):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()  # expect: norm-spike
    optimizer.step()  # or: norm-spike
