"""Soft actor-critic: twin critics, rsample, frozen critics in the actor's loss by requires_grad_, learned temperature."""
import copy

import torch
from torch import nn
from torch.distributions import Normal


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, o))


torch.manual_seed(0)
actor, q1, q2 = mlp(3, 2), mlp(4, 1), mlp(4, 1)
t1, t2 = copy.deepcopy(q1).requires_grad_(False), copy.deepcopy(q2).requires_grad_(False)
log_alpha = torch.zeros(1, requires_grad=True)
oa = torch.optim.Adam(actor.parameters(), lr=3e-3)
oq = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=3e-3)
ot = torch.optim.Adam([log_alpha], lr=3e-3)


def policy(s):
    mu, log_std = actor(s).chunk(2, 1)
    d = Normal(mu, log_std.clamp(-3, 1).exp())
    u = d.rsample()
    a = torch.tanh(u)
    return a, (d.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)).sum(1, keepdim=True)


for it in range(15):
    s, s2 = torch.randn(32, 3), torch.randn(32, 3)
    a = torch.rand(32, 1) * 2 - 1
    r = -(a - s[:, :1].tanh()).pow(2)
    with torch.no_grad():
        a2, logp2 = policy(s2)
        x2 = torch.cat([s2, a2], 1)
        target = r + 0.9 * (torch.min(t1(x2), t2(x2)) - log_alpha.exp() * logp2)
    x = torch.cat([s, a], 1)
    q_loss = (q1(x) - target).pow(2).mean() + (q2(x) - target).pow(2).mean()
    oq.zero_grad()
    q_loss.backward()
    oq.step()
    for p in [*q1.parameters(), *q2.parameters()]:
        p.requires_grad_(False)
    pi, logp = policy(s)
    x = torch.cat([s, pi], 1)
    a_loss = (log_alpha.exp().detach() * logp - torch.min(q1(x), q2(x))).mean()
    oa.zero_grad()
    a_loss.backward()
    oa.step()
    for p in [*q1.parameters(), *q2.parameters()]:
        p.requires_grad_(True)
    t_loss = -(log_alpha * (logp.detach() - 1.0)).mean()
    ot.zero_grad()
    t_loss.backward()
    ot.step()
    with torch.no_grad():
        for t, q in ((t1, q1), (t2, q2)):
            for pt, p in zip(t.parameters(), q.parameters()):
                pt.mul_(0.99).add_(0.01 * p)
print(q_loss.item(), a_loss.item(), log_alpha.item())
