"""A vector env reuses its observation array; the policy keeps torch views of it until the update."""
import numpy as np
import torch
from torch import nn


class VecEnv:
    def __init__(self, n, dim, seed=0):
        self.rng = np.random.default_rng(seed)
        self.obs = np.zeros((n, dim), dtype=np.float32)

    def reset(self):
        self.obs[...] = self.rng.normal(size=self.obs.shape)
        return self.obs

    def step(self, action):
        reward = -np.square(self.obs[:, 0] - action[:, 0])
        self.obs[...] = 0.9 * self.obs + 0.3 * self.rng.normal(size=self.obs.shape)  # expect: data-written
        return self.obs, reward.astype(np.float32)


class Policy(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 16), nn.Tanh(), nn.Linear(16, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, obs):
        return torch.distributions.Normal(self.net(obs), self.log_std.exp())


torch.manual_seed(0)
env, policy = VecEnv(16, 3), Policy(3)
opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
obs = env.reset()
for t in range(60):
    dist = policy(torch.from_numpy(obs))
    action = dist.sample()
    logp = dist.log_prob(action).sum(-1)
    obs, reward = env.step(action.numpy())
    adv = torch.from_numpy(reward)
    loss = -(logp * (adv - adv.mean())).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
