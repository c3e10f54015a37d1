"""retain_graph=True in a loop in which every loss has a graph of its own."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(6):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward(retain_graph=True)  # expect: graph-retained
    optimizer.step()
