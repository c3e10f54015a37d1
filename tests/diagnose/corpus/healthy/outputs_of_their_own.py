"""Models whose output runs out when it is iterated over, or refuses to be: nobody else does it."""

import torch
from torch import nn


class Pieces(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        return (self.layer(part) for part in x.split(8))


class Whole:
    def __init__(self, value):
        self.value = value

    def __iter__(self):
        raise RuntimeError("has no parts")


class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(4, 1), nn.Dropout(0.1))

    def forward(self, x):
        return Whole(self.layer(x))


torch.manual_seed(0)
x = torch.randn(32, 4)
y = x.sum(1, keepdim=True)
pieces, wrapped = Pieces(), Wrapped()
optimizer = torch.optim.SGD([*pieces.parameters(), *wrapped.parameters()], lr=0.05)
for _ in range(60):
    optimizer.zero_grad()
    parts = list(pieces(x))
    assert len(parts) == 4
    loss = (torch.cat(parts) - y).pow(2).mean() + (wrapped(x).value - y).pow(2).mean()
    loss.backward()
    optimizer.step()
print(loss.item())
