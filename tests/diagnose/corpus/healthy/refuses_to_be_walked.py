"""A list of which no item can be asked for is no matter of the diagnosis."""
import torch
from torch import nn


class Sized(tuple):
    """As of a library: it is a tuple, and refuses to be counted or walked."""

    def __len__(self):
        raise NotImplementedError

    def __iter__(self):
        raise NotImplementedError


torch.manual_seed(0)
sizes = Sized((2, 8, 1))
model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(30):
    x = torch.randn(16, 2)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
