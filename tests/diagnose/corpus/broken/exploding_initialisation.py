"""Weights of deviation 1 in wide layers: every layer multiplies the gradient."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        nn.init.normal_(self.linear.weight)

    def forward(self, x):
        return nn.functional.relu(self.linear(x))  # expect: exploding


torch.manual_seed(0)
blocks = [Block(32) for _ in range(10)]  # or: exploding
net = nn.Sequential(*blocks, nn.Linear(32, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-12)
for _ in range(5):
    x = torch.randn(8, 32)
    loss = net(x).mean()
    optimizer.zero_grad()
    loss.backward()  # or: exploding
    optimizer.step()  # or: exploding
