"""Layer scale as in image transformers; gamma is in the optimizer and does not require a gradient."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.gamma = nn.Parameter(0.1 * torch.ones(dim), requires_grad=False)  # expect: frozen

    def forward(self, x):
        return x + self.gamma * self.mlp(self.norm(x))


torch.manual_seed(0)
net = nn.Sequential(Block(8), Block(8), nn.Linear(8, 1))
decay = [p for n, p in net.named_parameters() if p.ndim > 1]
no_decay = [p for n, p in net.named_parameters() if p.ndim <= 1]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}], lr=1e-3)  # or: frozen
for i in range(15):
    x = torch.randn(32, 8)
    loss = (net(x).squeeze(1) - x.max(dim=1).values).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
