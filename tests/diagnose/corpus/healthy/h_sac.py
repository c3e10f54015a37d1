"""SAC on a made-up replay buffer: two critics, targets, a learned temperature."""

import copy
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, o))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(3, 2)

    def forward(self, s):
        mean, log_std = self.net(s).chunk(2, -1)
        d = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
        u = d.rsample()
        a = torch.tanh(u)
        return a, (d.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)).sum(-1, keepdim=True)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1, self.q2 = mlp(4, 1), mlp(4, 1)

    def forward(self, s, a):
        x = torch.cat([s, a], -1)
        return self.q1(x), self.q2(x)


class SAC:
    def __init__(self):
        self.actor, self.critic = Actor(), Critic()
        self.target = copy.deepcopy(self.critic)
        self.log_alpha = torch.tensor(0.0, requires_grad=True)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), 3e-4)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), 3e-4)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], 3e-4)

    def update(self, s, a, r, s2, d):
        with torch.no_grad():
            a2, lp = self.actor(s2)
            q1, q2 = self.target(s2, a2)
            y = r + 0.99 * (1 - d) * (torch.min(q1, q2) - self.log_alpha.exp() * lp)
        q1, q2 = self.critic(s, a)
        critic_loss = F.mse_loss(q1, y) + F.mse_loss(q2, y)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()
        pi, lp = self.actor(s)
        actor_loss = (self.log_alpha.exp().detach() * lp - torch.min(*self.critic(s, pi))).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        alpha_loss = -(self.log_alpha * (lp - 1.0).detach()).mean()
        self.alpha_opt.zero_grad()
        alpha_loss.backward()
        self.alpha_opt.step()
        for p, t in zip(self.critic.parameters(), self.target.parameters()):
            t.data.mul_(0.995)
            t.data.add_(0.005 * p.data)
        return critic_loss.item(), actor_loss.item()


agent = SAC()
for _ in range(30):
    s = torch.randn(32, 3)
    print(agent.update(s, torch.rand(32, 1) * 2 - 1, torch.randn(32, 1), s + 0.1, (torch.rand(32, 1) > 0.9).float()))
