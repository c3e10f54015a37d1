"""A GAN whose generator is judged on the detached images that were made for the discriminator."""

import torch
from torch import nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(2, 8)
        self.image = nn.Linear(8, 4)

    def forward(self, z):
        return torch.tanh(self.image(torch.relu(self.up(z))))


G, D = Generator(), nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(), nn.Linear(8, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters(), lr=2e-4), torch.optim.Adam(D.parameters(), lr=2e-4)
bce = nn.BCEWithLogitsLoss()
for step in range(6):
    real = torch.rand(8, 4)
    fake = G(torch.randn(8, 2)).detach()  # expect: cut-detach up.weight up.bias image.weight image.bias
    loss_d = bce(D(real), torch.ones(8, 1)) + bce(D(fake), torch.zeros(8, 1))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    loss_g = bce(D(fake), torch.ones(8, 1))
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
