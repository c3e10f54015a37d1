"""A gated cell by hand, over fifty steps; only the last state counts."""

import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, inputs, size):
        super().__init__()
        self.gates = nn.Linear(inputs + size, 4 * size)

    def forward(self, x, state):
        h, c = state
        i, f, o, g = self.gates(torch.cat([x, h], 1)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, c


torch.manual_seed(0)
cell, head = Cell(3, 12), nn.Linear(12, 2)
module = nn.ModuleList([cell, head])
opt = torch.optim.RMSprop(module.parameters(), lr=1e-3)
for _ in range(6):
    xs = torch.randn(50, 8, 3)
    state = torch.zeros(8, 12), torch.zeros(8, 12)
    for x in xs:
        state = cell(x, state)
    loss = nn.functional.cross_entropy(head(state[0]), (xs[-1, :, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(module.parameters(), 1.0)
    opt.step()
