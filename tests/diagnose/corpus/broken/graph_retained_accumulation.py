"""Gradients are accumulated over batches, which does not need their graphs."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
parts = 4
for _ in range(3):
    optimizer.zero_grad()
    for _ in range(parts):
        loss = nn.functional.cross_entropy(net(torch.randn(6, 4)), torch.randint(0, 2, (6,)))
        torch.autograd.backward(loss / parts, retain_graph=True)  # expect: graph-retained
    optimizer.step()
