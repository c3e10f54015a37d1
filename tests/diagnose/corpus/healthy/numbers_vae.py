"""A variational autoencoder: exp of log-variances, sigmoid outputs, binary targets."""

import torch
from torch import nn
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.mu, self.logvar = nn.Linear(36, 24), nn.Linear(24, 3), nn.Linear(24, 3)
        self.fc3, self.fc4 = nn.Linear(3, 24), nn.Linear(24, 36)

    def forward(self, x):
        h = F.relu(self.fc1(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar


torch.manual_seed(0)
data = (torch.rand(128, 36) > 0.97).float()
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    for batch in data.split(32):
        optimizer.zero_grad()
        out, mu, logvar = model(batch)
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum()
        loss = F.binary_cross_entropy(out, batch, reduction="sum") + kl
        loss.backward()
        optimizer.step()
