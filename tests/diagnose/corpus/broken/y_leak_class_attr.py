"""Class-level list of gate values."""
import torch
from torch import nn


class Gate(nn.Module):
    values = []

    def __init__(self, d):
        super().__init__()
        self.w = nn.Linear(d, d)

    def forward(self, x):
        g = torch.sigmoid(self.w(x))
        Gate.values.append(g.mean())  # expect: graph-leak
        return x * g


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), Gate(8), nn.Linear(8, 1))
opt = torch.optim.Adam(model.parameters())
for _ in range(40):
    x = torch.randn(8, 4)
    loss = model(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(len(Gate.values))
