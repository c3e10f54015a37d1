"""Two classes, one output, and a loss for several."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 5)
y = (x[:, :1] > 0).float()
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(10):
    loss = nn.functional.cross_entropy(model(x), y)  # expect: loss-input
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
