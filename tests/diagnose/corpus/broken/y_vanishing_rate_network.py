"""A rate network (dt / tau = 0.25) of 140 time bins: a cue in the first, the decision after the last."""

import torch
from torch import nn


class CTRNN(nn.Module):
    def __init__(self, n_in, n, dt=5.0, tau=20.0):
        super().__init__()
        self.i2h = nn.Linear(n_in, n)
        self.h2h = nn.Linear(n, n)
        nn.init.normal_(self.h2h.weight, std=0.3 / n**0.5)
        self.alpha = dt / tau
        self.n = n

    def step(self, x, h):
        return torch.relu(self.i2h(x) + self.h2h(h)) * self.alpha + h * (1 - self.alpha)  # expect: vanishing

    def forward(self, xs):
        h = torch.zeros(xs.shape[1], self.n)
        for k in range(xs.shape[0]):
            h = self.step(xs[k], h)  # or: vanishing
        return h


torch.manual_seed(0)
rnn, readout = CTRNN(2, 48), nn.Linear(48, 2)
opt = torch.optim.Adam([*rnn.parameters(), *readout.parameters()], lr=1e-3)
crit = nn.CrossEntropyLoss()
for trial in range(15):
    cue = torch.randint(0, 2, (24,))
    xs = 0.1 * torch.randn(140, 24, 2)
    xs[0, torch.arange(24), cue] += 1
    loss = crit(readout(rnn(xs)), cue)
    opt.zero_grad()
    loss.backward()  # or: vanishing
    opt.step()  # or: vanishing
    print(trial, loss.item())
