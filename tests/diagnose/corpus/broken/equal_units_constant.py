"""All weights begin with one number."""

import torch
from torch import nn


def initialise(module):
    if isinstance(module, nn.Linear):
        nn.init.constant_(module.weight, 0.1)  # expect: equal-units
        nn.init.zeros_(module.bias)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
model.apply(initialise)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
x, y = torch.randn(16, 5), torch.randn(16, 1)
for step in range(8):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
