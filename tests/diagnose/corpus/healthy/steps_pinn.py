"""A differential equation: the same collocation points, which require gradients, at every step."""

import math

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
t = torch.linspace(0, 1, 20).view(-1, 1).requires_grad_(True)
start = torch.zeros(1, 1)
for _ in range(10):
    optimizer.zero_grad()
    u = net(t)
    du = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
    loss = (du + u - torch.sin(math.pi * t)).pow(2).mean() + (net(start) - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
