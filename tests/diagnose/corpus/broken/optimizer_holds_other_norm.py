"""Weight normalization is put on after the optimizer has taken the plain weight."""

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)  # or: optimizer-holds-other
weight_norm(net[0])  # expect: optimizer-holds-other
for _ in range(6):
    x = torch.randn(16, 3)
    loss = (net(x) - x.prod(1, keepdim=True)).pow(2).mean()
    net.zero_grad()
    loss.backward()
    optimizer.step()
