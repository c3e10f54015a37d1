"""A generator shows samples now and then, in training mode, as it was trained: nothing is measured with them."""

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(2, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g, opt_d = (torch.optim.Adam(m.parameters(), lr=1e-3, betas=(0.5, 0.999)) for m in (G, D))
bce = nn.BCEWithLogitsLoss()
fixed, shown = torch.randn(4, 2), []
for i in range(12):
    real, fake = torch.randn(8, 2), G(torch.randn(8, 2))
    opt_d.zero_grad()
    (bce(D(real), torch.ones(8, 1)) + bce(D(fake.detach()), torch.zeros(8, 1))).backward()
    opt_d.step()
    opt_g.zero_grad()
    bce(D(fake), torch.ones(8, 1)).backward()
    opt_g.step()
    if i % 5 == 4:
        with torch.no_grad():
            samples = G(fixed).detach().cpu()
        shown.append(samples)
