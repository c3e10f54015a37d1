"""The step is not called: the parentheses are missing."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)  # expect: no-step 0.weight 0.bias 2.weight 2.bias
x, y = torch.randn(32, 5), torch.randn(32, 1)
for step in range(10):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step  # noqa: B018
