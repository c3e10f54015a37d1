"""DDPG: the critic gets gradients in the actor's step; targets follow by averaging."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
for _ in range(10):
    s, a, r, s2 = torch.randn(8, 3), torch.rand(8, 1) * 2 - 1, torch.randn(8, 1), torch.randn(8, 3)
    with torch.no_grad():
        y = r + 0.99 * critic_target(torch.cat([s2, actor_target(s2)], 1))
    critic_loss = nn.functional.mse_loss(critic(torch.cat([s, a], 1)), y)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()
    actor_loss = -critic(torch.cat([s, actor(s)], 1)).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    for net, target in ((actor, actor_target), (critic, critic_target)):
        for p, q in zip(net.parameters(), target.parameters()):
            q.data.mul_(0.995).add_(0.005 * p.data)
