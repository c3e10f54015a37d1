"""DDPG in which the critic is stepped between the actor's forward and backward."""
import torch
from torch import nn


def mlp(i, o, out=None):
    layers = [nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, o)]
    return nn.Sequential(*layers, *([out] if out else []))


class DDPG:
    def __init__(self, obs, act):
        self.actor = mlp(obs, act, nn.Tanh())
        self.critic = mlp(obs + act, 1)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def q(self, s, a):
        return self.critic(torch.cat([s, a], dim=1))

    def update(self, s, a, r):
        critic_loss = nn.functional.mse_loss(self.q(s, a), r)
        actor_loss = -self.q(s, self.actor(s)).mean()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()  # expect: inplace-modified
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        return critic_loss.item(), actor_loss.item()


torch.manual_seed(0)
agent = DDPG(4, 1)
for i in range(10):
    s = torch.randn(32, 4)
    a = torch.rand(32, 1) * 2 - 1
    r = -(a - s[:, :1].tanh()) ** 2
    print(agent.update(s, a, r))
