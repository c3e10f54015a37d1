"""The discriminator's loss is computed from a detached image, so nothing goes through its graph again."""

import torch
from torch import nn


def train(generator, critic, rounds):
    loss = nn.BCEWithLogitsLoss()
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
    d_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    ones, zeros = torch.ones(8, 1), torch.zeros(8, 1)
    for _ in range(rounds):
        fake = generator(torch.randn(8, 3))
        d_loss = loss(critic(torch.randn(8, 2) + 2), ones) + loss(critic(fake.detach()), zeros)
        d_optimizer.zero_grad()
        d_loss.backward(retain_graph=True)  # expect: graph-retained
        d_optimizer.step()
        g_loss = loss(critic(fake), ones)
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()


torch.manual_seed(0)
train(nn.Sequential(nn.Linear(3, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2)),
    nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1)), 5)
