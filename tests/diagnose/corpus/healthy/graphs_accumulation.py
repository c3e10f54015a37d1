"""Losses of the parts of a large batch, kept until its step; and of an unrolled inner loop."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(4):
    parts = []
    optimizer.zero_grad()
    for _ in range(6):
        x = torch.randn(4, 4)
        loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)) / 6
        loss.backward()
        parts.append(loss)
    optimizer.step()
    print(sum(parts).item())
rate = torch.tensor(0.1, requires_grad=True)
outer = torch.optim.SGD([rate], lr=0.01)
for _ in range(5):
    w = torch.zeros(3, requires_grad=True)
    for _ in range(6):
        inner = (w - 1).pow(2).sum()
        (g,) = torch.autograd.grad(inner, w, create_graph=True)
        w = w - rate * g
    outer.zero_grad()
    (w - 1).pow(2).sum().backward()
    outer.step()
