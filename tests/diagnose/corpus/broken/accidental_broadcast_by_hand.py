"""Values of states, a column, against returns, which are flat: the error is written by hand."""

import torch
from torch import nn


def value_loss(values, returns, mask):
    error = values - returns  # expect: accidental-broadcast
    return (error.pow(2) * mask).mean()


torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(critic.parameters(), 1e-2)
for step in range(12):
    states = torch.randn(32, 4)
    returns = states.sum(1)
    loss = 0.5 * value_loss(critic(states), returns, torch.ones(32))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
