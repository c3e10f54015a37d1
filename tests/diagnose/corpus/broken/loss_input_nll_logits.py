"""The last layer's output goes into nll_loss as it is: the loss falls without end."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 5)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
criterion = nn.NLLLoss()
for step in range(10):
    loss = criterion(model(x), y)  # expect: loss-input
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
