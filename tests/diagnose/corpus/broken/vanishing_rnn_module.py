"""nn.RNN has to remember the first of a hundred inputs; a class for the model, a function for the loop."""

import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(4, 16, batch_first=True)  # or: vanishing
        self.out = nn.Linear(16, 2)

    def forward(self, x):
        states, _ = self.rnn(x)  # expect: vanishing
        return self.out(states[:, -1])


def fit(model, steps):
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(steps):
        x = torch.randn(16, 100, 4)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), (x[:, 0, 0] > 0).long()).backward()  # or: vanishing
        optimizer.step()  # or: vanishing


torch.manual_seed(0)
fit(Memory(), 5)
