"""A leaky unit, whose label depends on the first five of 150 inputs."""

import torch
from torch import nn

torch.manual_seed(0)


class Leaky(nn.Module):
    def __init__(self, n_in, n):
        super().__init__()
        self.win = nn.Linear(n_in, n)
        self.rec = nn.Linear(n, n, bias=False)
        self.out = nn.Linear(n, 2)

    def forward(self, x):
        h = torch.zeros(x.size(1), 24)
        for t in range(x.size(0)):
            h = 0.8 * h + 0.1 * torch.tanh(self.win(x[t]) + self.rec(h))  # expect: vanishing
        return self.out(h)


net = Leaky(3, 24)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(12):
    x = torch.randn(150, 16, 3)
    y = (x[:5].sum((0, 2)) > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()  # or: vanishing
    opt.step()  # or: vanishing
    print(step, loss.item())
