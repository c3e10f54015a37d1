"""Unrolled simulation holds all states."""
import torch
from torch import nn


class Dynamics(nn.Module):
    def __init__(self, n=4096):
        super().__init__()
        self.k = nn.Parameter(torch.tensor(0.1))
        self.drift = nn.Parameter(torch.zeros(n))

    def forward(self, u, steps):
        for _ in range(steps):
            u = u + self.k * (torch.roll(u, 1, -1) - 2 * u + torch.roll(u, -1, -1)) + self.drift
            u = torch.tanh(u)  # expect: memory-hotspot
        return u


torch.manual_seed(0)
sim = Dynamics()
opt = torch.optim.SGD(sim.parameters(), lr=1e-3)
u0 = torch.randn(8, 4096)
target = u0.roll(3, -1).tanh()
for it in range(4):
    loss = nn.functional.mse_loss(sim(u0, 30), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
