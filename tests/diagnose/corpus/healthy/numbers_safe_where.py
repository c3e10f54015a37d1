"""Masked operations as they should be: inputs are made safe first; an overflow is clamped away."""

import torch
from torch import nn


def safe_log(x):
    positive = x > 0
    return torch.where(positive, torch.where(positive, x, torch.ones_like(x)).log(), torch.zeros_like(x))


def safe_norm(x, dim=-1, eps=1e-12):
    return (x.square().sum(dim) + eps).sqrt()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
best = float("inf")
for step in range(12):
    x = torch.randn(10, 6)
    out = net(x)
    with torch.no_grad():
        report = torch.exp(out * 1e4).log()  # not used
    loss = safe_log(out).square().mean() + safe_norm(torch.relu(out)).mean()
    loss = loss + torch.nan_to_num(torch.full((2,), float("nan"))).sum()
    loss = loss + torch.exp(out.detach() * 100).clamp(max=1.0).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    best = min(best, loss.item())
