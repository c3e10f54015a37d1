"""VQ-VAE: argmin for the codes, straight-through estimator, codebook and commitment losses with stop-gradients."""
import torch
from torch import nn
from torch.nn import functional as F


class VQ(nn.Module):
    def __init__(self, k=8, d=4):
        super().__init__()
        self.codebook = nn.Embedding(k, d)
        nn.init.uniform_(self.codebook.weight, -0.5, 0.5)

    def forward(self, z):
        idx = torch.cdist(z, self.codebook.weight).argmin(1)
        q = self.codebook(idx)
        loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss, idx


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.vq, self.dec = nn.Linear(6, 4), VQ(), nn.Linear(4, 6)

    def forward(self, x):
        q, vq_loss, idx = self.vq(self.enc(x))
        return self.dec(q), vq_loss, idx.unique().numel()


torch.manual_seed(0)
model = VQVAE()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
basis = torch.randn(3, 6)
for i in range(20):
    x = basis[torch.randint(0, 3, (40,))] + 0.1 * torch.randn(40, 6)
    recon, vq_loss, used = model(x)
    loss = F.mse_loss(recon, x) + vq_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item(), used)
