"""Importance weights without clipping: one unlikely action makes a step thirty times as large as the usual ones."""
import torch
from torch import nn
from torch.distributions import Normal


class Gaussian(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Linear(3, 1)
        self.log_std = nn.Parameter(torch.tensor([-0.5]))

    def forward(self, s):
        return Normal(self.mu(s), self.log_std.exp())


def rollout(n, step):
    s = torch.randn(n, 3)
    a = 0.5 * torch.randn(n, 1)
    logp_old = Normal(0.0, 0.5).log_prob(a)
    if step == 33:
        logp_old[4] = -14.0
    return s, a, logp_old, -(a - s[:, :1]).abs()


torch.manual_seed(0)
policy = Gaussian()
opt = torch.optim.SGD(policy.parameters(), lr=1e-4)
for step in range(40):
    s, a, logp_old, reward = rollout(32, step)
    dist = policy(s)
    ratio = torch.exp(dist.log_prob(a) - logp_old)  # or: norm-spike
    loss = -(ratio * (reward - reward.mean())).mean()
    opt.zero_grad()
    loss.backward()  # expect: norm-spike
    opt.step()  # or: norm-spike
    print(step, sum(p.grad.norm().item() for p in policy.parameters()))
