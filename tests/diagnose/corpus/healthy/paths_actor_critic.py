"""An actor and a critic with one trunk: the advantage is detached, the critic has a loss of its own."""

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
rng = np.random.default_rng(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(4, 16)
        self.actor, self.critic = nn.Linear(16, 2), nn.Linear(16, 1)

    def forward(self, s):
        h = torch.tanh(self.trunk(s))
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
baseline = 0.0
for episode in range(6):
    saved, rewards, state = [], [], rng.normal(size=4).astype(np.float32)
    for _ in range(5):
        dist, value = policy(torch.from_numpy(state))
        action = dist.sample()
        saved.append((dist.log_prob(action), value))
        rewards.append(float(action.item() == (state[0] > 0)))
        state = rng.normal(size=4).astype(np.float32)
    returns = torch.tensor(np.cumsum(rewards[::-1])[::-1].copy(), dtype=torch.float32)
    log_probs, values = (torch.stack(v) for v in zip(*saved))
    loss = -(log_probs * (returns - values.detach() - baseline)).mean() + (returns - values).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    baseline = 0.9 * baseline + 0.1 * values.mean().item()
