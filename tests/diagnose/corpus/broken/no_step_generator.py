"""Of two networks one is never stepped."""

import torch
from torch import nn

torch.manual_seed(0)
encoder, head = nn.Linear(5, 4), nn.Linear(4, 1)
first = torch.optim.SGD(encoder.parameters(), 0.01)  # expect: no-step
second = torch.optim.SGD(head.parameters(), 0.01)
x, y = torch.randn(32, 5), torch.randn(32, 1)
for step in range(10):
    loss = nn.functional.mse_loss(head(torch.tanh(encoder(x))), y)
    first.zero_grad()
    second.zero_grad()
    loss.backward()
    second.step()
