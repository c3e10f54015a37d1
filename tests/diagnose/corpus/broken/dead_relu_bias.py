"""A bias of -10 switches the hidden layer off."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(5, 32)
        self.act = nn.ReLU()
        self.second = nn.Linear(32, 2)
        nn.init.constant_(self.first.bias, -10)  # expect: dead-relu first.weight first.bias

    def forward(self, x):
        return self.second(self.act(self.first(x)))  # or: dead-relu


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(10):
    x = torch.randn(16, 5)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
