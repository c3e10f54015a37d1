"""A layer is made, but forward() calls the one before it twice."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer1 = nn.Linear(4, n)
        self.layer2 = nn.Linear(n, n)
        self.layer3 = nn.Linear(n, n)  # expect: unused layer3.weight layer3.bias
        self.out = nn.Linear(n, 1)

    def forward(self, x):
        x = torch.relu(self.layer1(x))
        x = torch.relu(self.layer2(x))
        x = torch.relu(self.layer2(x))
        return self.out(x)


torch.manual_seed(0)
net = Net(8)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(10):
    x = torch.randn(6, 4)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
