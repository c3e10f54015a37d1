"""A VAE whose log-variance is not bounded: exp() overflows on an input of another scale."""
import torch
from torch import nn


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(6, 8)
        self.dec = nn.Linear(4, 6)

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        var = torch.exp(logvar)  # expect: nonfinite-forward
        z = mu + var.sqrt() * torch.randn_like(mu)
        return self.dec(z), mu, logvar, var


def loss_fn(x, out):
    recon, mu, logvar, var = out
    return nn.functional.mse_loss(recon, x) + 0.5 * (mu ** 2 + var - 1 - logvar).mean()


torch.manual_seed(0)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=1e-4)
batches = [torch.randn(16, 6) for _ in range(8)]
batches[5] = batches[5] * 2000
for i, x in enumerate(batches):
    loss = loss_fn(x, vae(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
