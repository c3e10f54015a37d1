"""Actor-critic with two networks and one joint loss; the optimizer was built before the critic came."""
import torch
import torch.nn as nn
from torch.distributions import Normal


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(3, 1)
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, s):
        return Normal(self.mean(s), self.log_std.exp())


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 16)
        self.value = nn.Linear(16, 1)

    def forward(self, s):
        return self.value(torch.tanh(self.fc(s)))


torch.manual_seed(0)
actor, critic = Actor(), Critic()
optimizer = torch.optim.Adam(actor.parameters(), lr=0.01)  # expect: not-in-optimizer fc.weight fc.bias value.weight value.bias
for it in range(20):
    s = torch.randn(40, 3)
    dist = actor(s)
    a = dist.sample()
    reward = -(a - s[:, :1]) ** 2
    value = critic(s)
    advantage = (reward - value).detach()
    actor_loss = -(dist.log_prob(a) * advantage).mean()
    critic_loss = nn.functional.mse_loss(value, reward)
    loss = actor_loss + 0.5 * critic_loss - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(it, reward.mean().item(), critic_loss.item())
