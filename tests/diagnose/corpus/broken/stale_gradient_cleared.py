"""The gradients are cleared between backward() and step(): nothing is learned."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters())
criterion = nn.MSELoss()
for _ in range(10):
    x = torch.rand(16, 2)
    loss = criterion(net(x), x.prod(1, keepdim=True))
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()  # expect: stale-gradient
