"""The state of a recurrent network is carried from chunk to chunk, and retain_graph=True lets its graph grow."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 8)
        self.head = nn.Linear(8, 3)
        self.state = torch.zeros(4, 8)

    def forward(self, x):
        h = self.cell(x, self.state)
        self.state = h  # expect: graph-leak
        return self.head(h)  # or: graph-leak


torch.manual_seed(0)
model = Model()
series = torch.randn(12, 4, 3)
for t in range(11):
    loss = (model(series[t]) - series[t + 1]).pow(2).mean()
    loss.backward(retain_graph=True)
print(sum(p.grad.norm().item() for p in model.parameters()))
