"""Parameter noise for exploration injected through .numpy() and removed only after the backward."""
import numpy as np
import torch
from torch import nn


class ParamNoise:
    def __init__(self, params, sigma, seed=0):
        self.views = [p.detach().numpy() for p in params]
        self.rng = np.random.default_rng(seed)
        self.sigma = sigma
        self.noise = None

    def add(self):
        self.noise = [self.sigma * self.rng.standard_normal(v.shape).astype(v.dtype) for v in self.views]
        for v, n in zip(self.views, self.noise):
            v += n  # expect: data-written

    def remove(self):
        for v, n in zip(self.views, self.noise):
            v -= n


torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
noise = ParamNoise(list(policy.parameters()), 0.05)
opt = torch.optim.SGD(policy.parameters(), lr=0.1)
for episode in range(20):
    obs = torch.randn(24, 4)
    logits = policy(obs)
    noise.add()
    with torch.no_grad():
        behaviour = policy(obs).softmax(-1)
    action = torch.multinomial(behaviour, 1)
    reward = (action.squeeze(1) == (obs[:, 0] > 0)).float()
    loss = -(logits.log_softmax(-1).gather(1, action).squeeze(1) * (reward - 0.5)).mean()
    opt.zero_grad()
    loss.backward()
    noise.remove()
    opt.step()
print(loss.item())
