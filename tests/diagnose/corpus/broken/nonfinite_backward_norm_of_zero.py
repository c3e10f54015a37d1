"""Siamese distances: a pair of equal items, and sqrt has no derivative at 0."""

import torch
from torch import nn


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))

    def distance(self, a, b):
        difference = self.embed(a) - self.embed(b)
        squared = (difference * difference).sum(dim=1)
        return squared ** 0.5  # expect: nonfinite-backward

    def forward(self, a, b, same):
        d = self.distance(a, b)
        return torch.where(same, d, torch.relu(1 - d)).mean()


torch.manual_seed(0)
net = Siamese()
optimizer = torch.optim.Adam(net.parameters())
for step in range(8):
    a, b = torch.randn(6, 4), torch.randn(6, 4)
    if step == 5:
        b[2] = a[2]
    same = torch.tensor([True, False, True, False, True, False])
    loss = net(a, b, same)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
