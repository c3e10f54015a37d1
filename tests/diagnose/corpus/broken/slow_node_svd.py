"""The spectral norm of a weight by a whole decomposition, at every step."""

import torch
from torch import nn


class Penalized(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(1200, 1200)

    def forward(self, x):
        return self.layer(x)

    def penalty(self):
        values = torch.linalg.svd(self.layer.weight)[1]  # expect: slow-node
        return (values[0] - 1.0).relu()


torch.manual_seed(0)
model = Penalized()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
for _ in range(3):
    x = torch.randn(8, 1200)
    loss = (model(x) - x).pow(2).mean() + 1e-2 * model.penalty()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
