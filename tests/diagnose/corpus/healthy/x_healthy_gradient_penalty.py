"""WGAN-GP: create_graph, a hidden critic with double backward, one-sided losses."""
import torch
from torch import autograd, nn


def gradient_penalty(critic, real, fake):
    eps = torch.rand(len(real), 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mixed)
    (g,) = autograd.grad(score, mixed, torch.ones_like(score), create_graph=True, retain_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


torch.manual_seed(0)
G = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
C = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
og = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
oc = torch.optim.Adam(C.parameters(), lr=1e-3, betas=(0.0, 0.9))
for it in range(12):
    for p in C.parameters():
        p.requires_grad = True
    for _ in range(3):
        real = torch.randn(24, 2) + 2
        with torch.no_grad():
            fake = G(torch.randn(24, 3))
        loss = C(fake).mean() - C(real).mean() + 10 * gradient_penalty(C, real, fake)
        C.zero_grad()
        loss.backward()
        oc.step()
    for p in C.parameters():
        p.requires_grad = False
    g_loss = -C(G(torch.randn(24, 3))).mean()
    G.zero_grad()
    g_loss.backward()
    og.step()
    print(it, loss.item(), g_loss.item())
