"""Attention weights are masked in place after the softmax."""
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, x, pad):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        w = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, dim=-1)
        w.masked_fill_(pad[:, None, :], 0.0)  # expect: inplace-modified
        return w @ v


torch.manual_seed(0)
att, out = Attention(8), nn.Linear(8, 1)
opt = torch.optim.Adam([*att.parameters(), *out.parameters()], lr=1e-3)
for i in range(4):
    x = torch.randn(6, 5, 8)
    pad = torch.arange(5) >= torch.randint(1, 6, (6, 1))
    loss = out(att(x, pad)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
