"""Returns are normalised by their deviation; an episode of one step has none (policy gradient)."""

import torch
from torch import nn

torch.manual_seed(1)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)


def update(states, actions, rewards):
    returns, total = [], 0.0
    for r in reversed(rewards):
        total = r + 0.99 * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)  # expect: nonfinite-forward
    logs = torch.log_softmax(policy(states), 1)[torch.arange(len(actions)), actions]
    loss = -(logs * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for length in (6, 4, 1, 5):
    update(torch.randn(length, 4), torch.randint(0, 2, (length,)), [1.0] * (length - 1) + [0.0])
