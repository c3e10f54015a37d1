"""A GAN whose generator is set to evaluation for the pictures and stays there: its BatchNorm does not learn any more."""
import torch
from torch import nn
from torch.nn.functional import softplus


def show(gen, z):
    gen.eval()  # expect: eval-training
    with torch.no_grad():
        return gen(z).mean().item()


torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og, od = torch.optim.Adam(G.parameters(), lr=1e-3), torch.optim.Adam(D.parameters(), lr=1e-3)
fixed = torch.randn(16, 4)
for epoch in range(4):
    for _ in range(5):
        real, z = torch.randn(32, 2) + 1, torch.randn(32, 4)
        fake = G(z)
        d_loss = softplus(-D(real)).mean() + softplus(D(fake.detach())).mean()
        od.zero_grad()
        d_loss.backward()
        od.step()
        g_loss = softplus(-D(fake)).mean()
        og.zero_grad()
        g_loss.backward()
        og.step()
    print(epoch, d_loss.item(), g_loss.item(), show(G, fixed))
