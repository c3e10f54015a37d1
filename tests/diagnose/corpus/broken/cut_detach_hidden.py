"""An RNN cell by hand: the hidden state is detached in every time step, so the recurrent weights do not learn."""

import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.embed = nn.Linear(inputs, hidden)
        self.recur = nn.Linear(hidden, hidden)

    def forward(self, x, h):
        return torch.tanh(self.embed(x) + self.recur(h))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell(3, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, xs):
        h = torch.zeros(xs.shape[1], 8)
        for x in xs:
            h = self.cell(x, h)
            h = h.detach()  # expect: cut-detach cell.embed.weight cell.embed.bias cell.recur.weight cell.recur.bias
        return self.out(h)


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(8):
    xs = torch.randn(5, 4, 3)
    loss = nn.functional.mse_loss(model(xs), xs.sum((0, 2))[:, None])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
