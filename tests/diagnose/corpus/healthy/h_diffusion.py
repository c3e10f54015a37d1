"""A small denoising diffusion model with an average of its weights."""

import copy
import math
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
T = 50
betas = torch.linspace(1e-4, 0.02, T)
alphas_bar = torch.cumprod(1 - betas, 0)


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, t):
        half = self.dim // 2
        f = torch.exp(torch.arange(half) * -(math.log(10000) / (half - 1)))
        e = t[:, None] * f[None]
        return torch.cat((e.sin(), e.cos()), dim=-1)


class Denoiser(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.time = nn.Sequential(SinusoidalPosEmb(dim), nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.inp = nn.Linear(2, dim)
        self.blocks = nn.ModuleList(
            [nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim)) for _ in range(2)]
        )
        self.out = nn.Linear(dim, 2)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x, t):
        h = self.inp(x) + self.time(t)
        for b in self.blocks:
            h = h + b(h)
        return self.out(h)


class EMA:
    def __init__(self, model, decay=0.99):
        self.decay = decay
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.model.parameters(), model.parameters()):
            e.lerp_(p, 1 - self.decay)


model = Denoiser()
ema = EMA(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)
for step in range(40):
    x0 = torch.randn(64, 2) * 0.1 + torch.tensor([1.0, -1.0])
    t = torch.randint(0, T, (64,))
    noise = torch.randn_like(x0)
    ab = alphas_bar[t][:, None]
    loss = F.mse_loss(model(ab.sqrt() * x0 + (1 - ab).sqrt() * noise, t), noise)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    ema.update(model)
    if step % 10 == 0:
        print(step, loss.item())


@torch.inference_mode()
def sample(n):
    x = torch.randn(n, 2)
    for i in reversed(range(T)):
        e = ema.model(x, torch.full((n,), i))
        x = (x - betas[i] / (1 - alphas_bar[i]).sqrt() * e) / (1 - betas[i]).sqrt()
        if i:
            x += betas[i].sqrt() * torch.randn_like(x)
    return x


print(sample(4))
