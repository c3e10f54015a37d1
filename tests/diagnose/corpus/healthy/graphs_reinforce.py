"""REINFORCE: the logarithms of an episode's probabilities are kept with their graphs until its end."""

import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
        self.saved, self.rewards = [], []

    def forward(self, state):
        return torch.distributions.Categorical(logits=self.net(state))


def episode(policy, length):
    state = torch.randn(4)
    for _ in range(length):
        choice = policy(state)
        action = choice.sample()
        policy.saved.append(choice.log_prob(action))
        policy.rewards.append(float(action.item() == (state[0] > 0).item()))
        state = torch.randn(4)


def finish(policy, optimizer):
    total, returns = 0.0, []
    for reward in reversed(policy.rewards):
        total = reward + 0.9 * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    loss = torch.stack([-p * r for p, r in zip(policy.saved, returns)]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    policy.saved.clear()
    policy.rewards.clear()


torch.manual_seed(0)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
for _ in range(6):
    episode(policy, 12)
    finish(policy, optimizer)
