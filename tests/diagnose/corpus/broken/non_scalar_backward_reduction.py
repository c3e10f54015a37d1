"""Losses of single examples are weighted, and never reduced."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.MSELoss(reduction="none")
weights = torch.rand(8, 1)
for _ in range(3):
    x, y = torch.randn(8, 5), torch.randn(8, 1)
    loss = criterion(model(x), y) * weights  # or: non-scalar-backward
    optimizer.zero_grad()
    loss.backward()  # expect: non-scalar-backward
    optimizer.step()
