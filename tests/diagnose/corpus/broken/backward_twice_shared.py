"""Two losses share a trunk; the first backward() frees it."""

import torch
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(5, 16), nn.Tanh())
        self.policy = nn.Linear(16, 2)
        self.value = nn.Linear(16, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.policy(h), self.value(h)


torch.manual_seed(0)
net = TwoHeads()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    states, actions, returns = torch.randn(9, 5), torch.randint(0, 2, (9,)), torch.randn(9, 1)
    logits, values = net(states)
    advantage = (returns - values).detach().squeeze(1)
    policy_loss = (nn.functional.cross_entropy(logits, actions, reduction="none") * advantage).mean()
    value_loss = nn.functional.mse_loss(values, returns)
    optimizer.zero_grad()
    policy_loss.backward()  # or: backward-twice
    value_loss.backward()  # expect: backward-twice
    optimizer.step()
