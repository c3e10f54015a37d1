"""The loss has its shapes right, the accuracy has not."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 5)
y = (x[:, 0] > 0).float()
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(12):
    out = model(x)
    loss = nn.functional.binary_cross_entropy_with_logits(out.squeeze(1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        predicted = (torch.sigmoid(out) > 0.5).float()
        accuracy = (predicted == y).float().mean().item()  # expect: accidental-broadcast
