"""A learned sinc filter: sin(x) / x is patched at the centre tap."""
import math

import torch
from torch import nn


class SincFilter(nn.Module):
    def __init__(self, taps=15):
        super().__init__()
        self.cutoff = nn.Parameter(torch.tensor(0.2))
        self.register_buffer("n", torch.arange(taps) - (taps - 1) / 2)

    def forward(self, x):
        t = 2 * math.pi * self.cutoff * self.n
        taps = torch.where(t == 0, torch.ones_like(t), torch.sin(t) / t)  # expect: masked-nan
        kernel = (2 * self.cutoff * taps).view(1, 1, -1)
        return nn.functional.conv1d(x.unsqueeze(1), kernel, padding="same").squeeze(1)


torch.manual_seed(0)
filt = SincFilter()
opt = torch.optim.Adam(filt.parameters(), lr=0.01)
time = torch.linspace(0, 1, 100)
clean = torch.sin(2 * math.pi * 3 * time).repeat(8, 1)
for i in range(5):
    noisy = clean + 0.3 * torch.randn_like(clean)
    loss = (filt(noisy) - clean).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item(), filt.cutoff.item())
