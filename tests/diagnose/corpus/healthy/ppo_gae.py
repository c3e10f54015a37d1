from dataclasses import dataclass
import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)

@dataclass
class Cfg:
    horizon: int = 64
    epochs: int = 3
    minibatch: int = 16
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2

class Env:
    def reset(self):
        self.x = torch.randn(3) * 0.1
        return self.x

    def step(self, a):
        self.x = 0.9 * self.x + torch.cat([a, a * 0, -a]) * 0.1 + 0.05 * torch.randn(3)
        return self.x, -float(self.x.pow(2).sum()), bool(self.x.abs().max() > 1)

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.v = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(1) - 0.5)

    def dist(self, s):
        return Normal(self.pi(s), self.log_std.exp())

class Buffer:
    def __init__(self):
        self.rows = {k: [] for k in ("s", "a", "lp", "r", "v", "d")}

    def add(self, **kw):
        for k, v in kw.items():
            self.rows[k].append(v)

    def __getitem__(self, k):
        return torch.stack([torch.as_tensor(v, dtype=torch.float32) for v in self.rows[k]])

def gae(b, last, c):
    r, v, d = b["r"], b["v"], b["d"]
    adv, a = torch.zeros_like(r), 0.0
    for t in reversed(range(len(r))):
        nxt = last if t == len(r) - 1 else v[t + 1]
        delta = r[t] + c.gamma * nxt * (1 - d[t]) - v[t]
        a = delta + c.gamma * c.lam * (1 - d[t]) * a
        adv[t] = a
    return adv, adv + v

c, env, policy = Cfg(), Env(), Policy()
opt = torch.optim.Adam(policy.parameters(), lr=3e-4)
s = env.reset()
for it in range(3):
    b = Buffer()
    for _ in range(c.horizon):
        with torch.no_grad():
            d = policy.dist(s)
            a = d.sample()
            lp, v = d.log_prob(a).sum(-1), policy.v(s).squeeze(-1)
        s2, r, done = env.step(a)
        b.add(s=s, a=a, lp=lp, r=r, v=v, d=float(done))
        s = env.reset() if done else s2
    with torch.no_grad():
        adv, ret = gae(b, policy.v(s).squeeze(-1), c)
    S, A, LP = b["s"], b["a"], b["lp"]
    for _ in range(c.epochs):
        for idx in torch.randperm(c.horizon).split(c.minibatch):
            d = policy.dist(S[idx])
            ad = (adv[idx] - adv[idx].mean()) / (adv[idx].std() + 1e-8)
            ratio = (d.log_prob(A[idx]).sum(-1) - LP[idx]).exp()
            surr = torch.min(ratio * ad, ratio.clamp(1 - c.clip, 1 + c.clip) * ad)
            vloss = (policy.v(S[idx]).squeeze(-1) - ret[idx]).pow(2).mean()
            loss = -surr.mean() + 0.5 * vloss - 0.01 * d.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            opt.step()
