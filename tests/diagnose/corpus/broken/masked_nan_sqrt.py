"""The safe branch of where() is chosen, the unsafe one gives NaN in the backward all the same."""

import torch
from torch import nn


def soft_root(x):
    return torch.where(x > 0, torch.sqrt(x), torch.zeros_like(x))  # expect: masked-nan


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 5)
        self.outer = nn.Linear(5, 1)

    def forward(self, x):
        return self.outer(soft_root(self.inner(x)))


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
for _ in range(5):
    x = torch.randn(7, 3)
    loss = nn.functional.mse_loss(model(x), x[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
