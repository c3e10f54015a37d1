# the discriminator is frozen for the generator's step and never thawed
import torch
from torch import nn

torch.manual_seed(0)
G, D = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
lossf = nn.BCEWithLogitsLoss()
for step in range(6):
    real, z = torch.randn(16, 2) + 2, torch.randn(16, 2)
    d_in = torch.cat([real, G(z).detach()])
    d_loss = lossf(D(d_in), torch.cat([torch.ones(16, 1), torch.zeros(16, 1)]))
    if d_loss.requires_grad:
        od.zero_grad()
        d_loss.backward()
    od.step()
    for p in D.parameters():
        p.requires_grad = False  # expect: frozen
    og.zero_grad()
    lossf(D(G(z)), torch.ones(16, 1)).backward()
    og.step()
