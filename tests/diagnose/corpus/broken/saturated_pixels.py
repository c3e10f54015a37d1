"""Pixels from 0 to 255 go into a tanh layer."""

import torch
from torch import nn


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 20)
        self.out = nn.Linear(20, 10)

    def forward(self, x):
        h = torch.tanh(self.hidden(x))  # expect: saturated hidden.weight hidden.bias
        return self.out(h)


torch.manual_seed(0)
model = Perceptron()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(8):
    x = torch.randint(0, 256, (32, 64)).float()
    loss = nn.functional.cross_entropy(model(x), torch.randint(0, 10, (32,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
