"""The generator of parameters has been used up by the optimizer."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(5, 1)
parameters = model.parameters()
optimizer = torch.optim.SGD(parameters, 0.01)
x, y = torch.randn(32, 5), torch.randn(32, 1)
for step in range(10):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 1.0)  # expect: clip-unused
    optimizer.step()
