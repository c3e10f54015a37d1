"""Losses are kept as numbers, outputs detached, in lists, sums, attributes and dicts."""

import torch
from torch import nn


class History:
    def __init__(self):
        self.rows = {"loss": [], "out": []}
        self.total = 0.0

    def add(self, loss, out):
        self.rows["loss"].append(loss.item())
        self.rows["out"].append(out.detach())
        self.total += loss.detach()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
history, average = History(), None
for _ in range(12):
    x = torch.randn(16, 4)
    out = net(x)
    loss = nn.functional.mse_loss(out, x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.add(loss, out)
    average = loss.item() if average is None else 0.9 * average + 0.1 * loss.item()
print(float(history.total), average)
