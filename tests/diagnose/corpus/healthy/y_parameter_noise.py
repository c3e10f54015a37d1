"""Parameter noise through NumPy views, undone before the backward... and the forward is after the removal."""
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
views = [p.detach().numpy() for p in policy.parameters()]
opt = torch.optim.SGD(policy.parameters(), lr=0.1)
for episode in range(20):
    obs = torch.randn(24, 4)
    saved = [v.copy() for v in views]
    for v in views:
        v += 0.05 * rng.standard_normal(v.shape)
    with torch.no_grad():
        action = torch.multinomial(policy(obs).softmax(-1), 1)
    for v, s in zip(views, saved):
        v[...] = s
    reward = (action.squeeze(1) == (obs[:, 0] > 0)).float()
    loss = -(policy(obs).log_softmax(-1).gather(1, action).squeeze(1) * (reward - 0.5)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
