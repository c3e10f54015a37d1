"""A GAN whose discriminator's backward retains a graph that nothing uses again: fake is detached."""
import torch
from torch import nn
from torch.nn.functional import softplus


class Pair:
    def __init__(self, latent):
        self.latent = latent
        self.gen = nn.Sequential(nn.Linear(latent, 24), nn.ReLU(), nn.Linear(24, 3))
        self.dis = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 1))

    def noise(self, n):
        return torch.randn(n, self.latent)


def d_step(pair, opt, real):
    fake = pair.gen(pair.noise(len(real))).detach()
    loss = softplus(-pair.dis(real)).mean() + softplus(pair.dis(fake)).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)  # expect: graph-retained
    opt.step()
    return loss.item()


def g_step(pair, opt, n):
    loss = softplus(-pair.dis(pair.gen(pair.noise(n)))).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


torch.manual_seed(0)
pair = Pair(5)
og = torch.optim.Adam(pair.gen.parameters(), lr=1e-3)
od = torch.optim.Adam(pair.dis.parameters(), lr=1e-3)
for i in range(15):
    real = torch.randn(32, 3) * torch.tensor([1.0, 2.0, 0.5])
    print(i, d_step(pair, od, real), g_step(pair, og, 32))
