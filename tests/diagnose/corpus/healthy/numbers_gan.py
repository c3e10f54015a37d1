"""A GAN with sigmoid outputs, two optimizers."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2), nn.Tanh())
discriminator = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid())
for_g = torch.optim.Adam(generator.parameters(), lr=2e-3)
for_d = torch.optim.Adam(discriminator.parameters(), lr=2e-3)
bce = nn.BCELoss()
for _ in range(25):
    real = torch.randn(32, 2) * 0.1 + 2
    fake = generator(torch.randn(32, 4))
    for_d.zero_grad()
    (bce(discriminator(real), torch.ones(32, 1)) + bce(discriminator(fake.detach()), torch.zeros(32, 1))).backward()
    for_d.step()
    for_g.zero_grad()
    bce(discriminator(fake), torch.ones(32, 1)).backward()
    for_g.step()
