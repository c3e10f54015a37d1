import math
import copy
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
T = 40

class TimeEmbed(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.SiLU(), nn.Linear(2 * d, d))

    def forward(self, t):
        half = self.d // 2
        freqs = torch.exp(-math.log(10000) * torch.arange(half) / half)
        args = t[:, None].float() * freqs[None]
        return self.mlp(torch.cat([args.sin(), args.cos()], -1))

class Res(nn.Module):
    def __init__(self, i, o, d):
        super().__init__()
        self.n1, self.n2 = nn.GroupNorm(2, i), nn.GroupNorm(2, o)
        self.c1, self.c2 = nn.Conv2d(i, o, 3, padding=1), nn.Conv2d(o, o, 3, padding=1)
        self.emb = nn.Linear(d, o)
        self.skip = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x, e):
        h = self.c1(F.silu(self.n1(x)))
        h = h + self.emb(e)[:, :, None, None]
        h = self.c2(F.silu(self.n2(h)))
        return h + self.skip(x)

class UNet(nn.Module):
    def __init__(self, c=4, d=8):
        super().__init__()
        self.time = TimeEmbed(d)
        self.inp = nn.Conv2d(1, c, 3, padding=1)
        self.down1, self.down2 = Res(c, c, d), Res(c, 2 * c, d)
        self.mid = Res(2 * c, 2 * c, d)
        self.up2, self.up1 = Res(4 * c, c, d), Res(2 * c, c, d)
        self.out = nn.Conv2d(c, 1, 3, padding=1)

    def forward(self, x, t):
        e = self.time(t)
        x = self.inp(x)
        d1 = self.down1(x, e)
        d2 = self.down2(F.avg_pool2d(d1, 2), e)
        m = self.mid(d2, e)
        u = self.up2(torch.cat([m, d2], 1), e)
        u = F.interpolate(u, scale_factor=2)
        return self.out(self.up1(torch.cat([u, d1], 1), e))

class Diffusion:
    def __init__(self, model):
        self.model = model
        beta = torch.linspace(1e-4, 0.05, T)
        self.abar = torch.cumprod(1 - beta, 0)

    def loss(self, x0):
        t = torch.randint(0, T, (len(x0),))
        noise = torch.randn_like(x0)
        a = self.abar[t][:, None, None, None]
        xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
        return F.mse_loss(self.model(xt, t), noise)

model = UNet()
ema = copy.deepcopy(model).requires_grad_(False)
diff = Diffusion(model)
opt = torch.optim.AdamW(ema.parameters(), lr=2e-4)  # expect: optimizer-holds-other
log = []
for step in range(10):
    loss = diff.loss(torch.rand(4, 1, 8, 8))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    log.append(loss.item())
    with torch.no_grad():
        for p, q in zip(ema.parameters(), model.parameters()):
            p.lerp_(q, 0.05)
