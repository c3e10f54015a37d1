"""A frozen backbone; the optimizer was simply given all parameters."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 12))
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


torch.manual_seed(0)
net = Net()
for p in net.backbone.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    loss = nn.functional.cross_entropy(net(torch.randn(5, 6)), torch.randint(3, (5,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
