"""REINFORCE with the log-probabilities taken as numbers: the loss is a float, which has no backward()."""
import torch
from torch import nn
from torch.distributions import Bernoulli

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(5):
    terms, rewards = [], []
    for t in range(6):
        s = torch.randn(3)
        dist = Bernoulli(logits=policy(s))
        a = dist.sample()
        terms.append(dist.log_prob(a).item())  # expect: cut-item
        rewards.append(float(a.item() == (s[0] > 0)))
    baseline = sum(rewards) / len(rewards)
    loss = -sum(lp * (r - baseline) for lp, r in zip(terms, rewards))
    opt.zero_grad()
    loss.backward()
    opt.step()
