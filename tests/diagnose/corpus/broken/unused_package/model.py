"""The model."""

import torch
from torch import nn


class Forked(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(4, 8)
        self.main = nn.Linear(8, 1)
        self.side = nn.Linear(8, 2)  # or: unused

    def forward(self, x):
        h = torch.relu(self.trunk(x))
        return self.main(h), self.side(h)  # expect: unused side.weight side.bias
