"""All parameters are frozen, the new head too: it was put in before the loop."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential()
model.add_module("backbone", nn.Sequential(nn.Linear(6, 12), nn.ReLU()))
model.add_module("head", nn.Linear(12, 2))
for p in model.parameters():
    p.requires_grad = False  # expect: frozen
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = nn.functional.cross_entropy(model(torch.randn(4, 6)), torch.randint(2, (4,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
