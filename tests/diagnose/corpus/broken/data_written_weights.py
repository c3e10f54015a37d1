"""A critic's weights are clipped after its forward pass and before backward()."""

import torch
from torch import nn


def clip(module, limit):
    for p in module.parameters():
        p.data.clamp_(-limit, limit)  # expect: data-written 2.weight


def train(critic, generator, rounds):
    optimizer = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
    for _ in range(rounds):
        real = torch.randn(10, 3)
        with torch.no_grad():
            fake = generator(torch.randn(10, 2))
        loss = critic(fake).mean() - critic(real).mean()
        clip(critic, 0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
train(nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1)), nn.Linear(2, 3), 4)
