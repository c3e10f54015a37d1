"""The sigmoid was forgotten: the loss raises."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 5)
y = (x[:, :1] > 0).float()
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
criterion = nn.BCELoss()
for step in range(10):
    loss = criterion(model(x), y)  # expect: loss-input
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
