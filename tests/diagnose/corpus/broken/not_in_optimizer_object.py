"""Modules that a plain object keeps: two of them are forgotten, and are called as the program calls them."""

import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
class VAE:
    def __init__(self, x, z):
        self.enc = nn.Sequential(nn.Linear(x, 32), nn.ReLU())
        self.mu, self.logvar = nn.Linear(32, z), nn.Linear(32, z)
        self.dec = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, x))
    def __call__(self, x):
        h = self.enc(x)
        mu, lv = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return self.dec(z), mu, lv
vae = VAE(10, 2)
some = [*vae.enc.parameters(), *vae.dec.parameters()]
opt = torch.optim.Adam(some, 1e-3)  # expect: not-in-optimizer vae.mu.weight vae.mu.bias vae.logvar.weight vae.logvar.bias
for i in range(20):
    x = torch.rand(16, 10)
    xr, mu, lv = vae(x)
    kl = -0.5 * (1 + lv - mu ** 2 - lv.exp()).sum(1).mean()
    loss = F.mse_loss(xr, x, reduction="sum") / 16 + kl
    opt.zero_grad()
    loss.backward()
    opt.step()
