"""A deterministic policy whose last layer is initialised far too wide: the actions are at their limits from the start."""
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.fc = nn.Linear(obs, 32)
        self.mu = nn.Linear(32, act)
        nn.init.uniform_(self.mu.weight, -30, 30)  # or: saturated

    def forward(self, s):
        return torch.tanh(self.mu(torch.relu(self.fc(s))))  # expect: saturated


def reward(s, a):
    return -(a - 0.5 * torch.tanh(s[:, :2])).pow(2).sum(1)


torch.manual_seed(0)
policy = Policy(5, 2)
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
for i in range(25):
    s = torch.randn(64, 5)
    loss = -reward(s, policy(s)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
