"""Attention by a gate: the gate is multiplied in place, and sigmoid's gradient needs its output."""
import torch
from torch import nn


class GatedPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gate = nn.Linear(dim, 1)
        self.value = nn.Linear(dim, dim)

    def forward(self, x, mask):
        g = torch.sigmoid(self.gate(x))
        g *= mask.unsqueeze(-1)  # expect: inplace-modified
        v = self.value(x)
        return (g * v).sum(dim=1) / g.sum(dim=1)


torch.manual_seed(0)
pool, head = GatedPool(8), nn.Linear(8, 2)
opt = torch.optim.Adam(list(pool.parameters()) + list(head.parameters()), lr=1e-3)
for step in range(5):
    x = torch.randn(16, 7, 8)
    lengths = torch.randint(2, 8, (16,))
    mask = (torch.arange(7)[None] < lengths[:, None]).float()
    y = (x[:, 0, 0] > 0).long()
    loss = nn.functional.cross_entropy(head(pool(x, mask)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
