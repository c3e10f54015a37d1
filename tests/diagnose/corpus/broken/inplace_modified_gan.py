"""The critic steps between the generator's forward pass through it and the generator's backward()."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
critic = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
g_optimizer = torch.optim.Adam(generator.parameters(), lr=0.01)
c_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
for _ in range(5):
    score = critic(generator(torch.randn(16, 2)))
    c_loss = score.mean() - critic(torch.randn(16, 2)).mean()
    g_loss = -score.mean()
    c_optimizer.zero_grad()
    c_loss.backward(retain_graph=True)
    c_optimizer.step()  # expect: inplace-modified 2.weight
    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()
