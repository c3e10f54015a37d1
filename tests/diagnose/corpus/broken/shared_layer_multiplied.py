"""[layer] * n has one layer n times."""

import torch
from torch import nn

torch.manual_seed(0)
blocks = [nn.Sequential(nn.Linear(8, 8), nn.Tanh())] * 4
stack = nn.Sequential(*blocks)  # expect: shared-layer 1.0.0.weight 1.0.0.bias
model = nn.Sequential(nn.Linear(5, 8), stack, nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
x, y = torch.randn(16, 5), torch.randn(16, 1)
for step in range(5):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
