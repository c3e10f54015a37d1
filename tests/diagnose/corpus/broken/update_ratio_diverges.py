"""Gradient descent with far too large a learning rate: the loss overflows after a few steps."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 5) * 3
y = x @ torch.randn(5, 1)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=20.0)  # expect: update-ratio
for i in range(30):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # or: update-ratio
    if i % 10 == 0:
        print(i, loss.item())
