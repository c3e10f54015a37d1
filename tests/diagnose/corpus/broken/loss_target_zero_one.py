"""Labels of 0 and 1 for a loss that wants -1 and 1."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 5)
y = (x[:, :1] > 0).float()
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(10):
    loss = nn.functional.soft_margin_loss(model(x), y)  # expect: loss-target
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
