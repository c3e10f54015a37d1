"""A vector-quantised autoencoder whose codebook follows the averages of its codes, without gradients."""

import torch
import torch.nn.functional as F
from torch import nn


class Vq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(6, 3), nn.Linear(3, 6)
        self.codes = nn.Embedding(8, 3)

    def forward(self, x):
        z = self.encoder(x)
        with torch.no_grad():
            near = torch.cdist(z, self.codes.weight).argmin(1)
        q = self.codes(near).detach()
        if self.training:
            with torch.no_grad():
                for k in near.unique():
                    self.codes.weight[k].lerp_(z[near == k].mean(0), 0.1)
        return self.decoder(z + (q - z).detach()), 0.25 * F.mse_loss(z, q)


torch.manual_seed(0)
vq = Vq()
optimizer = torch.optim.Adam(vq.parameters(), lr=1e-2)
for _ in range(6):
    x = torch.randn(16, 6)
    y, commitment = vq(x)
    loss = F.mse_loss(y, x) + commitment
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
