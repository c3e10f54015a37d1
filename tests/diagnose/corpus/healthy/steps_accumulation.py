"""Deliberate accumulation: micro-batches whose losses are divided by their number."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
criterion = nn.CrossEntropyLoss()
accumulate = 4
optimizer.zero_grad()
for i in range(24):
    x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
    loss = criterion(model(x), y) / accumulate
    loss.backward()
    if (i + 1) % accumulate == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
