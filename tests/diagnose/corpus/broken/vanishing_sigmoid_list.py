"""Fourteen sigmoid layers: the first ones get no gradient to speak of."""

import torch
from torch import nn


class Deep(nn.Module):
    def __init__(self, width=16, depth=14):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])  # or: vanishing
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        for layer in self.layers:
            x = torch.sigmoid(layer(x))  # expect: vanishing
        return self.head(x)


torch.manual_seed(0)
net = Deep()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(12):
    x = torch.randn(32, 16)
    loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()  # or: vanishing
    optimizer.step()  # or: vanishing
