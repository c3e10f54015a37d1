"""Classes that are numbered from 1; it raises in the second batch only."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 5)
y = torch.cat([torch.ones(32), torch.full((32,), 3)]).long()
model = nn.Linear(5, 3)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for begin in (0, 32):
    rows = slice(begin, begin + 32)
    loss = nn.functional.cross_entropy(model(x[rows]), y[rows])  # expect: loss-target
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
