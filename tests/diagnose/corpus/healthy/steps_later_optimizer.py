"""Two phases: the head is trained on features that are not frozen, then everything with a second optimizer."""

import torch
from torch import nn


def run(model, optimizer, steps):
    for _ in range(steps):
        x = torch.randn(8, 4)
        loss = nn.functional.mse_loss(model(x), x.prod(1, keepdim=True))
        model.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
run(model, torch.optim.SGD(model[2].parameters(), lr=0.05), 6)
run(model, torch.optim.SGD(model.parameters(), lr=0.01), 6)
