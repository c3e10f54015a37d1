"""Separate networks, separate graphs, and retain_graph=True for the first backward 'because there are two'."""
import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
actor, critic = nn.Linear(3, 1), nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
oa, oc = torch.optim.Adam(actor.parameters(), lr=1e-2), torch.optim.Adam(critic.parameters(), lr=1e-2)
for it in range(15):
    s = torch.randn(32, 3)
    d = Normal(actor(s), 0.5)
    a = d.sample()
    r = -(a - s[:, :1]).pow(2)
    v = critic(s)
    critic_loss = (r - v).pow(2).mean()
    actor_loss = -(d.log_prob(a) * (r - v.detach())).mean()
    oc.zero_grad()
    critic_loss.backward(retain_graph=True)  # expect: graph-retained
    oc.step()
    oa.zero_grad()
    actor_loss.backward()
    oa.step()
    print(it, r.mean().item())
