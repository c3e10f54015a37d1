"""REINFORCE over episodes: log-probabilities kept for the episode, cleared after the update; a moving baseline."""
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 24)
        self.dropout = nn.Dropout(p=0.1)
        self.affine2 = nn.Linear(24, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = torch.relu(self.dropout(self.affine1(x)))
        return torch.softmax(self.affine2(x), dim=1)


torch.manual_seed(0)
policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
baseline = 0.0
for episode in range(12):
    for t in range(8):
        state = torch.randn(1, 4)
        m = Categorical(policy(state))
        action = m.sample()
        policy.saved_log_probs.append(m.log_prob(action))
        policy.rewards.append(float(action.item() == int(state[0, 0] > 0)))
    R, returns = 0.0, []
    for r in policy.rewards[::-1]:
        R = r + 0.9 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    baseline = 0.9 * baseline + 0.1 * returns.mean().item()
    loss = torch.cat([-lp * (g - baseline) for lp, g in zip(policy.saved_log_probs, returns)]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(episode, sum(policy.rewards))
    del policy.rewards[:]
    del policy.saved_log_probs[:]
