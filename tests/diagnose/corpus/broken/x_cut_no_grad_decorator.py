"""A variational autoencoder; the decorator of sample() was meant for generation after the training."""
import torch
from torch import nn
from torch.nn.functional import mse_loss


class VAE(nn.Module):
    def __init__(self, inputs=10, latent=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(inputs, 20), nn.Tanh())
        self.mu = nn.Linear(20, latent)
        self.logvar = nn.Linear(20, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 20), nn.Tanh(), nn.Linear(20, inputs))

    def encode(self, x):
        h = self.enc(x)
        return self.mu(h), self.logvar(h)

    @torch.no_grad()  # expect: cut-no-grad dec.0.weight dec.0.bias dec.2.weight dec.2.bias
    def decode(self, z):  # or: cut-no-grad
        return self.dec(z)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.decode(z), mu, logvar


def elbo(x, recon, mu, logvar):
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return mse_loss(recon, x, reduction="sum") / len(x) + kl


torch.manual_seed(0)
data = torch.randn(64, 3) @ torch.randn(3, 10)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), 1e-3)
for step in range(20):
    recon, mu, logvar = vae(data)
    loss = elbo(data, recon, mu, logvar)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
