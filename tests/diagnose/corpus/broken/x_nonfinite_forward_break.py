"""Stops at the first bad loss, as careful people do."""
import sys

import torch
from torch import nn


class RatioNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.num = nn.Linear(4, 1)
        self.den = nn.Linear(4, 1)

    def forward(self, x):
        top = self.num(x)
        bottom = torch.relu(self.den(x))
        return top / bottom  # expect: nonfinite-forward


def main():
    torch.manual_seed(11)
    net = RatioNet()
    with torch.no_grad():
        net.den.weight.fill_(0.2)
        net.den.bias.fill_(1.0)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(500):
        x = torch.randn(16, 4)
        y = x[:, :1]
        loss = nn.functional.smooth_l1_loss(net(x), y)
        if not torch.isfinite(loss):
            print("bad loss at step", step)
            break
        opt.zero_grad()
        loss.backward()
        opt.step()


main()
sys.exit(0)
