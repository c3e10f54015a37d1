"""Regression: the output is a column, the targets are flat."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 5)
y = x @ torch.randn(5)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
criterion = nn.MSELoss()
for step in range(20):
    loss = criterion(model(x), y)  # expect: accidental-broadcast
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
