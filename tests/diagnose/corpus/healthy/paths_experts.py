"""A mixture of experts: which of them run differs from step to step."""

import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(4, 6)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(6))
        self.out = nn.Linear(4, 1)

    def forward(self, x):
        weight, chosen = self.router(x.mean(0)).softmax(0).topk(2)
        x = sum(w * self.experts[int(i)](x) for w, i in zip(weight, chosen))
        return self.out(x)


torch.manual_seed(0)
net = Mixture()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    x = torch.randn(3, 4)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
