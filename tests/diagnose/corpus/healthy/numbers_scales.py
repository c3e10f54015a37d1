"""Several losses of very different scales, one of them tiny; discounted sums over many steps."""

import torch
from torch import nn


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        return torch.log_softmax(self.pi(h), -1), self.v(h).squeeze(-1)


torch.manual_seed(0)
net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for episode in range(15):
    total = torch.zeros(())
    for t in range(120):
        logs, value = net(torch.randn(4))
        action = torch.distributions.Categorical(logits=logs).sample()
        reward = 1.0 if episode % 3 == 0 else 0.0
        advantage = reward - value.detach()
        entropy = -(logs.exp() * logs).sum()
        total = total + 0.85**t * (-logs[action] * advantage + 100 * (value - reward) ** 2 - 1e-8 * entropy)
    opt.zero_grad()
    total.backward()
    opt.step()
