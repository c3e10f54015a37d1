"""Adam with a learning rate that suits SGD with large batches, perhaps."""

import torch
from torch import nn


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Linear(12, 4)
        self.up = nn.Linear(4, 12)

    def forward(self, x):
        return self.up(torch.tanh(self.down(x)))


def make_optimizer(model):
    return torch.optim.Adam(model.parameters(), lr=5.0)  # expect: update-ratio


torch.manual_seed(0)
model = Autoencoder()
optimizer = make_optimizer(model)
for _ in range(10):
    x = torch.randn(32, 12)
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # or: update-ratio
