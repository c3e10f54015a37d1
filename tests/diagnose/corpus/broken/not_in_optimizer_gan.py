"""Both optimizers of a GAN were given the generator."""

import torch
from torch import nn


class GAN:
    def __init__(self):
        self.g = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 2))
        self.d = nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 1), nn.Sigmoid())
        self.opt_g = torch.optim.Adam(self.g.parameters(), lr=1e-3)
        self.opt_d = torch.optim.Adam(self.g.parameters(), lr=1e-3)  # expect: not-in-optimizer

    def step(self, real):
        fake = self.g(torch.randn(len(real), 4))
        self.d.zero_grad()
        loss_d = -(self.d(real).log() + (1 - self.d(fake.detach())).log()).mean()
        loss_d.backward()
        self.opt_d.step()
        self.g.zero_grad()
        loss_g = -self.d(fake).log().mean()
        loss_g.backward()
        self.opt_g.step()
        self.g.zero_grad()


torch.manual_seed(0)
gan = GAN()
for _ in range(5):
    gan.step(torch.randn(16, 2) + 1)
