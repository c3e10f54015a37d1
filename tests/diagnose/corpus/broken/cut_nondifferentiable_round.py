"""Quantisation by round(): its gradient is zero everywhere."""

import torch
from torch import nn


def quantise(x, levels=4):
    return torch.round(x * levels) / levels  # expect: cut-nondifferentiable encoder.weight encoder.bias


class Code(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(6, 3)
        self.decoder = nn.Linear(3, 6)

    def forward(self, x):
        return self.decoder(quantise(torch.sigmoid(self.encoder(x))))


torch.manual_seed(0)
code = Code()
opt = torch.optim.Adam(code.parameters(), lr=1e-2)
for _ in range(6):
    x = torch.randn(10, 6)
    loss = nn.functional.mse_loss(code(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
