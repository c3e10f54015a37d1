"""Labels of -1 and 1 for a loss that wants 0 and 1: it falls below zero and goes on falling."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 5)
y = x[:, :1].sign()
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(10):
    loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)  # expect: loss-target
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
