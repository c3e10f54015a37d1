"""Accumulation of sums over micro-batches, divided by the size of the whole batch; another one divides gradients."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(5):
    x, y = torch.randn(32, 6), torch.randn(32, 1)
    optimizer.zero_grad()
    for i in range(0, 32, 8):
        loss = F.mse_loss(model(x[i : i + 8]), y[i : i + 8], reduction="sum") / 32
        loss.backward()
    optimizer.step()

for _ in range(5):
    optimizer.zero_grad()
    for _ in range(4):
        x = torch.randn(8, 6)
        F.mse_loss(model(x), x[:, :1]).backward()
    for p in model.parameters():
        p.grad /= 4
    optimizer.step()
