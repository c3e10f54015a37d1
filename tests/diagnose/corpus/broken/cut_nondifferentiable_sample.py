"""A latent variable is drawn by sample() instead of rsample(): the encoder gets no gradient."""

import torch
from torch import nn
from torch.distributions import Normal


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(5, 2)
        self.log_std = nn.Linear(5, 2)
        self.decoder = nn.Linear(2, 5)

    def forward(self, x):
        q = Normal(self.mean(x), self.log_std(x).exp())
        z = q.sample()  # expect: cut-nondifferentiable mean.weight mean.bias log_std.weight log_std.bias
        return self.decoder(z)


torch.manual_seed(0)
vae = Vae()
optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)
for _ in range(5):
    x = torch.randn(8, 5)
    loss = nn.functional.mse_loss(vae(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
