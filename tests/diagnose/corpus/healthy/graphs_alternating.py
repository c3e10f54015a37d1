"""A GAN whose generator's loss goes through the critic before the critic steps, with retain_graph where it is used."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
critic = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
g_optimizer = torch.optim.Adam(generator.parameters(), lr=0.01)
c_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
for _ in range(5):
    fake = generator(torch.randn(16, 2))
    score = critic(fake)
    g_loss = -score.mean()
    c_loss = score.mean() - critic(torch.randn(16, 2) + 1).mean()
    g_optimizer.zero_grad()
    g_loss.backward(retain_graph=True, inputs=list(generator.parameters()))
    c_optimizer.zero_grad()
    c_loss.backward(inputs=list(critic.parameters()))
    g_optimizer.step()
    c_optimizer.step()
