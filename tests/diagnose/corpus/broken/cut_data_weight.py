"""Tied weights by .data: the decoder uses the numbers of the encoder's weight, and only its own bias learns."""

import torch
import torch.nn.functional as F
from torch import nn


class Projection(nn.Module):
    def __init__(self, n, k):
        super().__init__()
        self.basis = nn.Parameter(torch.randn(k, n) / n**0.5)
        self.offset = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        w = self.basis.data  # expect: cut-data basis
        return F.linear(F.linear(x, w), w.t()) + self.offset


def main():
    torch.manual_seed(0)
    net = Projection(6, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    data = torch.randn(64, 2) @ torch.randn(2, 6)
    for start in range(0, 64, 16):
        batch = data[start : start + 16]
        opt.zero_grad()
        F.mse_loss(net(batch), batch).backward()
        opt.step()


main()
