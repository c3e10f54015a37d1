"""GAN alternation: the discriminator gets gradients in the generator's step, and clears them before its own."""

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
for step in range(12):
    real = torch.randn(16, 2) * 0.5 + 1
    D.zero_grad()
    criterion(D(real), torch.ones(16, 1)).backward()
    fake = G(torch.randn(16, 3))
    criterion(D(fake.detach()), torch.zeros(16, 1)).backward()
    opt_d.step()
    G.zero_grad()
    criterion(D(fake), torch.ones(16, 1)).backward()
    opt_g.step()

for step in range(12):
    real, fake = torch.randn(16, 2), G(torch.randn(16, 3))
    opt_d.zero_grad()
    for batch, label in ((real, torch.ones(16, 1)), (fake.detach(), torch.zeros(16, 1))):
        criterion(D(batch), label).backward()
    opt_d.step()
    opt_g.zero_grad()
    criterion(D(fake), torch.ones(16, 1)).backward()
    opt_g.step()
