"""Discriminator frozen while the generator trains, as in many GAN repositories; nobody switches it on again."""
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce


def set_requires_grad(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)  # expect: frozen


class GAN:
    def __init__(self):
        self.G = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
        self.D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.1), nn.Linear(16, 1))
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=1e-3)
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=1e-3)

    def train_d(self, real):
        fake = self.G(torch.randn(len(real), 3))
        s_real, s_fake = self.D(real), self.D(fake)
        loss = bce(s_real, torch.ones_like(s_real)) + bce(s_fake, torch.zeros_like(s_fake))
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()
        return loss.item()

    def train_g(self, n):
        set_requires_grad(self.D, False)  # or: frozen
        s = self.D(self.G(torch.randn(n, 3)))
        loss = bce(s, torch.ones_like(s))
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        return loss.item()


torch.manual_seed(0)
gan = GAN()
for it in range(20):
    real = torch.randn(32, 2) @ torch.tensor([[1.0, 0.8], [0.0, 0.3]])
    print(it, gan.train_d(real), gan.train_g(32))
