"""An element of a value is set after exp() has saved it."""

import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = nn.Parameter(torch.randn(4))

    def weights(self):
        weights = self.scores.exp()
        weights[0] = 1.0  # expect: inplace-modified
        return weights / weights.sum()

    def forward(self, x):
        return (x * self.weights()).sum(1)


torch.manual_seed(0)
mixture = Mixture()
optimizer = torch.optim.SGD(mixture.parameters(), lr=0.1)
for _ in range(3):
    loss = (mixture(torch.randn(7, 4)) - 1).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
