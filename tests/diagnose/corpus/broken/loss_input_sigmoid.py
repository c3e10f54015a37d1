"""A sigmoid before a loss on logits, in the forward of the model."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(5, 16), nn.Linear(16, 1)

    def forward(self, x):
        h = F.relu(self.hidden(x))
        return torch.sigmoid(self.out(h)).squeeze(-1)  # expect: loss-input


torch.manual_seed(0)
x = torch.randn(64, 5)
y = (x[:, 0] > 0).float()
net = Net()
optimizer = torch.optim.Adam(net.parameters(), 1e-2)
for step in range(10):
    loss = F.binary_cross_entropy_with_logits(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
