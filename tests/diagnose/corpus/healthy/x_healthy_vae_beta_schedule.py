"""A VAE with KL warm-up from zero, reparameterisation, generation afterwards, histogram by NumPy."""
import numpy as np
import torch
from torch import nn


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(8, 6), nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, 1)
        z = mu + (0.5 * logvar).exp() * torch.randn_like(mu) if self.training else mu
        return self.dec(z), mu, logvar


torch.manual_seed(0)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=5e-3)
latents, mix = [], torch.randn(3, 8)
for step in range(25):
    x = torch.randn(32, 3) @ mix
    recon, mu, logvar = vae(x)
    kl = 0.5 * (mu.pow(2) + logvar.exp() - 1 - logvar).sum(1).mean()
    loss = (recon - x).pow(2).sum(1).mean() + min(1.0, step / 10) * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
    latents.append(mu.detach().numpy())
print(np.histogram(np.concatenate(latents))[0], loss.item())
vae.eval()
with torch.no_grad():
    print(vae.dec(torch.randn(2, 3)).mean().item())
