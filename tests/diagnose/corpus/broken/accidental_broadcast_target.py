"""The output is flattened, and the targets were made a column when they were read."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(48, 5)
y = x.sum(1).unsqueeze(1)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for step in range(10):
    predicted = model(x).squeeze()
    loss = torch.mean((predicted - y) ** 2)  # expect: accidental-broadcast
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
