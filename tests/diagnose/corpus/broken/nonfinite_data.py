"""A column of the data has a hole."""

import torch
from torch import nn


def load():
    rows = [[0.1 * i, 1.0 - 0.1 * i, 0.5] for i in range(10)]
    rows[7][1] = float("nan")
    return torch.tensor(rows), torch.tensor([[float(i % 2)] for i in range(10)])  # expect: nonfinite-forward


x, y = load()
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))  # or: nonfinite-forward
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for i in range(0, 10, 5):
        loss = nn.functional.binary_cross_entropy_with_logits(net(x[i : i + 5]), y[i : i + 5])  # or: nonfinite-forward
        opt.zero_grad()
        loss.backward()
        opt.step()
