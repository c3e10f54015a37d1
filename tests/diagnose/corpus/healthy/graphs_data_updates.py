"""Updates through .data where nothing needs the old values: by hand, clipping of weights, an average of a model."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
generator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))
average = copy.deepcopy(generator)
for module in generator:
    if isinstance(module, nn.Linear):
        module.weight.data.normal_(0, 0.2)
        module.bias.data.zero_()
c_optimizer = torch.optim.RMSprop(critic.parameters(), lr=5e-3)
g_optimizer = torch.optim.RMSprop(generator.parameters(), lr=5e-3)
for _ in range(6):
    c_loss = critic(generator(torch.randn(9, 2)).detach()).mean() - critic(torch.randn(9, 3)).mean()
    c_optimizer.zero_grad()
    c_loss.backward()
    c_optimizer.step()
    for p in critic.parameters():
        p.data.clamp_(-0.05, 0.05)
    g_loss = -critic(generator(torch.randn(9, 2))).mean()
    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()
    for a, p in zip(average.parameters(), generator.parameters()):
        a.data.mul_(0.99).add_(p.data, alpha=0.01)
w = torch.randn(3, requires_grad=True)
for _ in range(5):
    loss = (torch.randn(7, 3) @ w - 1).pow(2).mean()
    loss.backward()
    w.data -= 0.1 * w.grad.data
    w.grad.data.zero_()
    shown = w.detach().numpy().copy()
    shown[0] = 0.0
