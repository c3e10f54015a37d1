"""Statistics of the epoch in a dict: stats['loss'] += loss."""
import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
stats = {"loss": 0.0, "entropy": 0.0}
for it in range(40):
    s = torch.randn(32, 4)
    dist = torch.distributions.Categorical(logits=policy(s))
    a = dist.sample()
    r = (a == (s[:, 0] > 0).long()).float()
    loss = -(dist.log_prob(a) * (r - r.mean())).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    stats["loss"] += loss.item()
    stats["entropy"] += dist.entropy().mean()  # expect: graph-leak
print({k: float(v) / 40 for k, v in stats.items()})
