"""WGAN with a gradient penalty: the critic's gradients with respect to points between real and fake ones."""

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
C = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_c = torch.optim.Adam(C.parameters(), lr=1e-3, betas=(0.0, 0.9))


def penalty(real, fake):
    t = torch.rand(len(real), 1)
    x = (t * real + (1 - t) * fake).requires_grad_(True)
    (g,) = torch.autograd.grad(C(x).sum(), x, create_graph=True)
    return (g.norm(dim=1) - 1).pow(2).mean()


for it in range(12):
    real, fake = torch.randn(8, 2) + 3, G(torch.randn(8, 2)).detach()
    opt_c.zero_grad()
    loss = C(fake).mean() - C(real).mean() + 10 * penalty(real, fake)
    loss.backward()
    opt_c.step()
    if it % 3 == 2:
        opt_g.zero_grad()
        (-C(G(torch.randn(8, 2))).mean()).backward()
        opt_g.step()
