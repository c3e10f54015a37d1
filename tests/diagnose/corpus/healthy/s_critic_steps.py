import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
C = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Dropout(0.1), nn.Linear(16, 1))
og, oc = torch.optim.RMSprop(G.parameters(), 1e-3), torch.optim.RMSprop(C.parameters(), 1e-3)
for it in range(12):
    for _ in range(5):
        real, fake = torch.randn(16, 2), G(torch.randn(16, 4)).detach()
        loss = C(fake).mean() - C(real).mean()
        oc.zero_grad()
        loss.backward()
        oc.step()
        for p in C.parameters():
            p.data.clamp_(-0.1, 0.1)
    lg = -C(G(torch.randn(16, 4))).mean()
    og.zero_grad()
    lg.backward()
    og.step()
    if it % 4 == 0:
        sample = G(torch.randn(8, 4)).detach()
        print(it, lg.item(), sample.mean().item())
