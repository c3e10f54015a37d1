"""Layers are dropped by Python's random module in a checkpoint of the older form."""

import random

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(4)])
        self.out = nn.Linear(6, 1)

    def body(self, x):
        for layer in self.layers:
            if random.random() < 0.8:  # expect: checkpoint-impure
                x = x + torch.tanh(layer(x))
        return x

    def forward(self, x):
        return self.out(checkpoint(self.body, x, use_reentrant=True))


random.seed(0)
torch.manual_seed(0)
net = Deep()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(4):
    x = torch.randn(3, 6, requires_grad=True)
    loss = net(x).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
