"""A helper forgets the gradients before the step instead of after it."""

import torch
from torch import nn


def forget(parameters):
    for p in parameters:
        p.grad = None


torch.manual_seed(0)
model = nn.Bilinear(2, 3, 1)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
for _ in range(6):
    a, b = torch.randn(7, 2), torch.randn(7, 3)
    nn.functional.huber_loss(model(a, b), a[:, :1]).backward()
    forget(model.parameters())
    optimizer.step()  # expect: stale-gradient
