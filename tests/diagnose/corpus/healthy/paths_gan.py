"""A GAN with several steps of the critic for one of the generator."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
critic = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
opt_g = torch.optim.RMSprop(generator.parameters(), lr=1e-3)
opt_c = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
for step in range(14):
    real = torch.randn(16, 2) + 3
    fake = generator(torch.randn(16, 2))
    loss_c = critic(fake.detach()).mean() - critic(real).mean()
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()
    for p in critic.parameters():
        p.data.clamp_(-0.1, 0.1)
    if step % 5 == 4:
        loss_g = -critic(generator(torch.randn(16, 2))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
