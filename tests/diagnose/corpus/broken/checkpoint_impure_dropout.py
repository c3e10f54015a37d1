"""Dropout in a checkpoint that does not preserve the state of the random numbers."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 4))
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        h = checkpoint(self.block, x, use_reentrant=False, preserve_rng_state=False)  # expect: checkpoint-impure
        return self.head(h)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(4):
    loss = net(torch.randn(6, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
