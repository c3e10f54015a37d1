"""Training, then a stream of predictions with a recurrent state and without no_grad: the history grows with every reading."""
import torch
from torch import nn


class Tracker:
    def __init__(self, cell, read):
        self.cell, self.read = cell, read
        self.state = torch.zeros(1, 16)

    def __call__(self, x):
        self.state = self.cell(x, self.state)  # expect: graph-leak
        return self.read(self.state)


torch.manual_seed(0)
cell, read = nn.GRUCell(2, 16), nn.Linear(16, 2)
opt = torch.optim.Adam([*cell.parameters(), *read.parameters()], lr=1e-2)
for i in range(10):
    h, loss = torch.zeros(8, 16), 0.0
    for t in range(5):
        x = torch.randn(8, 2)
        h = cell(x, h)
        loss = loss + (read(h) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
tracker = Tracker(cell, read)
total = 0.0
for t in range(300):
    total += tracker(torch.randn(1, 2)).sum().item()
print(total)
