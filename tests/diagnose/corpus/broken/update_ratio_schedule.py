"""A schedule that was meant for epochs is called for every batch: after a few batches, the rate is next to nothing."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.4)
for epoch in range(4):
    for _ in range(10):
        x = torch.randn(16, 4)
        loss = (model(x) - x.norm(dim=1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # expect: update-ratio
        scheduler.step()  # or: update-ratio
