"""The backbone is frozen for the first epoch, with a group and a rate of its own from the second on."""

import torch
from torch import nn

torch.manual_seed(0)
backbone, head = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(8, 2)
backbone.requires_grad_(False)
model = nn.Sequential(backbone, head)
optimizer = torch.optim.SGD([{"params": backbone.parameters(), "lr": 1e-3}, {"params": head.parameters()}], lr=0.1)
for epoch in range(3):
    if epoch == 1:
        backbone.requires_grad_(True)
    for _ in range(5):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(2, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
