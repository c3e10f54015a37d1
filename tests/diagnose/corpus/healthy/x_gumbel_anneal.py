import torch
from torch import nn
import torch.nn.functional as F


class DiscreteVAE(nn.Module):
    def __init__(self, d=16, k=8):
        super().__init__()
        self.enc = nn.Linear(d, k)
        self.dec = nn.Linear(k, d)

    def forward(self, x, tau):
        logits = self.enc(x)
        z = F.softmax((logits + gumbel(logits.shape)) / tau, dim=-1)
        return self.dec(z), logits


def gumbel(shape):
    return -torch.log(-torch.log(torch.rand(shape).clamp(1e-9, 1 - 1e-7)))


torch.manual_seed(0)
protos = torch.randn(8, 16)
model = DiscreteVAE()
opt = torch.optim.Adam(model.parameters(), 1e-2)
for step in range(220):
    tau = max(0.05, 1.0 * 0.98 ** step)
    x = protos[torch.randint(0, 8, (64,))] + 0.1 * torch.randn(64, 16)
    recon, logits = model(x, tau)
    q = logits.softmax(-1)
    kl = (q * (q.clamp_min(1e-10).log() + torch.log(torch.tensor(8.0)))).sum(-1).mean()
    loss = F.mse_loss(recon, x) + 0.01 * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
