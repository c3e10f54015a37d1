"""Policy gradient; the log probability passes through NumPy for the discounting."""
import numpy as np
import torch
from torch import nn


class Bandit:
    def __init__(self, k, seed=0):
        self.rng = np.random.default_rng(seed)
        self.means = self.rng.normal(size=k)

    def pull(self, a):
        return self.means[a] + 0.1 * self.rng.normal()


class Policy(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.theta = nn.Parameter(torch.zeros(k))
        self.baseline = nn.Parameter(torch.zeros(()))

    def forward(self):
        return torch.log_softmax(self.theta, 0)


torch.manual_seed(0)
bandit, policy = Bandit(5), Policy(5)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.05)
for epoch in range(30):
    logp = policy()
    acts = torch.multinomial(logp.exp().detach(), 10, replacement=True)
    rewards = np.array([bandit.pull(int(a)) for a in acts])
    chosen = logp[acts].detach().cpu().numpy()  # expect: cut-numpy theta
    pg = torch.from_numpy(-(chosen * rewards)).float().mean()
    value = (policy.baseline - torch.as_tensor(rewards, dtype=torch.float32)).pow(2).mean()
    loss = pg + value
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
