"""Recurrent policy: the hidden state of finished environments is reset through .data, while the unroll's graph needs it."""
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 12)
        self.value = nn.Linear(12, 1)


torch.manual_seed(0)
net = Policy()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for update in range(12):
    h = torch.zeros(8, 12)
    loss = 0.0
    for t in range(6):
        obs, done = torch.randn(8, 4), torch.rand(8) < 0.3
        h = net.cell(obs, h)
        loss = loss + (torch.tanh(net.value(h * h)) - obs[:, :1]).pow(2).mean()
        h.data[done] = 0.0  # expect: data-written
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(update, loss.item())
