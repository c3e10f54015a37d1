"""Attention is built and, by a flag that the config names otherwise, never used."""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    dim: int = 12
    attention: bool = True
    use_attention: bool = False


class Encoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.rnn = nn.GRU(3, cfg.dim, batch_first=True)
        if cfg.attention:
            self.query = nn.Linear(cfg.dim, 1)  # expect: unused query.weight query.bias
        self.out = nn.Linear(cfg.dim, 1)

    def forward(self, x):
        h, last = self.rnn(x)
        if self.cfg.use_attention:
            w = torch.softmax(self.query(h), dim=1)
            return self.out((w * h).sum(1))
        return self.out(last[-1])


torch.manual_seed(0)
enc = Encoder(Config())
opt = torch.optim.Adam(enc.parameters(), lr=5e-3)
for i in range(12):
    x = torch.randn(24, 6, 3)
    loss = nn.functional.mse_loss(enc(x), x[:, :, 0].sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
