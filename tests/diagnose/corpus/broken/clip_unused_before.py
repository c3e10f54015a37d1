"""Clipping before the backward."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
x, y = torch.randn(32, 5), torch.randn(32, 1)
for step in range(10):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    nn.utils.clip_grad_value_(model.parameters(), 1.0)  # expect: clip-unused
    loss.backward()
    optimizer.step()
