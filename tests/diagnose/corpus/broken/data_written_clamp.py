"""The activations are clamped through .data between the forward pass and backward()."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 1)

    def forward(self, x):
        h = torch.exp(self.first(x))
        h.data.clamp_(max=1.5)  # expect: data-written
        return self.second(h)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(4):
    loss = net(torch.randn(6, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
