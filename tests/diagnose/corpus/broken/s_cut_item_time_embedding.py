import math
import torch
from torch import nn

torch.manual_seed(0)


class TimeEmbedding(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.freq = nn.Parameter(torch.exp(-math.log(100.0) * torch.arange(d // 2) / (d // 2)))
        self.mlp = nn.Sequential(nn.Linear(d, d), nn.SiLU())

    def forward(self, t):
        args = [[ti * f for f in self.freq.tolist()] for ti in t.tolist()]  # expect: cut-item time.freq
        args = torch.tensor(args)
        return self.mlp(torch.cat([args.sin(), args.cos()], -1))


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = TimeEmbedding(8)
        self.inp = nn.Linear(2, 8)
        self.out = nn.Linear(8, 2)

    def forward(self, x, t):
        return self.out(torch.relu(self.inp(x) + self.time(t)))


model = Denoiser()
opt = torch.optim.Adam(model.parameters(), 1e-3)
betas = torch.linspace(1e-3, 0.05, 50)
ab = torch.cumprod(1 - betas, 0)
for step in range(15):
    x0 = torch.randn(32, 2) * 0.3 + 1
    t = torch.randint(0, 50, (32,))
    eps = torch.randn_like(x0)
    xt = ab[t].sqrt()[:, None] * x0 + (1 - ab[t]).sqrt()[:, None] * eps
    loss = (model(xt, t.float()) - eps).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
