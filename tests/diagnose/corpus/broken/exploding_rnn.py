"""A linear recurrence whose matrix grows, over thirty steps, without clipping."""

import torch
from torch import nn


class Recurrence(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.take = nn.Linear(2, size)
        self.step = nn.Linear(size, size)
        nn.init.orthogonal_(self.step.weight, gain=2.0)
        self.give = nn.Linear(size, 1)

    def forward(self, xs):
        state = torch.zeros(xs.shape[1], self.step.in_features)
        for x in xs:
            state = torch.relu(self.take(x) + self.step(state)) + 0.1 * self.step(state)  # expect: exploding
        return self.give(state)


torch.manual_seed(0)
model = Recurrence(10)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
for _ in range(4):
    loss = model(torch.randn(30, 4, 2)).mean()
    optimizer.zero_grad()
    loss.backward()  # or: exploding
    optimizer.step()  # or: exploding
