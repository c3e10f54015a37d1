"""The generator's loss uses the discriminator's output from before the discriminator's step."""
import torch
from torch import nn


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(2, 20)
        self.l2 = nn.Linear(20, 1)

    def forward(self, x):
        return self.l2(torch.relu(self.l1(x)))


torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 20), nn.ReLU(), nn.Linear(20, 2))
D = Discriminator()
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3)
criterion = nn.BCEWithLogitsLoss()

for it in range(5):
    real = torch.randn(16, 2) + 2
    fake = G(torch.randn(16, 4))
    d_real = D(real)
    d_fake = D(fake)
    d_loss = criterion(d_real, torch.ones(16, 1)) + criterion(d_fake, torch.zeros(16, 1))
    g_loss = criterion(d_fake, torch.ones(16, 1))

    opt_d.zero_grad()
    d_loss.backward(retain_graph=True)
    opt_d.step()  # expect: inplace-modified

    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    print(it, d_loss.item(), g_loss.item())
