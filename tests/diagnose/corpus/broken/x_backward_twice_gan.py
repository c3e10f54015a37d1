"""The generator's loss uses the discriminator's output for the fake batch, whose graph d_loss.backward() has freed."""
import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
opt_g, opt_d = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
bce = nn.BCELoss()
for i in range(5):
    fake = G(torch.randn(16, 3))
    opt_d.zero_grad()
    d_fake = D(fake)  # or: backward-twice
    d_loss = bce(D(torch.randn(16, 2) + 1), torch.ones(16, 1)) + bce(d_fake, torch.zeros(16, 1))
    d_loss.backward()  # or: backward-twice
    opt_g.zero_grad()
    g_loss = bce(d_fake, torch.ones(16, 1))
    g_loss.backward()  # expect: backward-twice
    opt_d.step()
    opt_g.step()
