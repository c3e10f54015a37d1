"""A generated weight is wrapped in nn.Parameter: a new leaf, so the network that generates it never learns."""

import torch
from torch import nn


class Hyper(nn.Module):
    def __init__(self):
        super().__init__()
        self.code = nn.Linear(2, 6)
        self.bias = nn.Parameter(torch.zeros(2))

    def forward(self, z, x):
        w = nn.Parameter(self.code(z).view(2, 3))  # expect: cut-new-tensor code.weight code.bias
        return nn.functional.linear(x, w, self.bias)


torch.manual_seed(0)
net = Hyper()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
z = torch.randn(2)
for _ in range(5):
    x = torch.randn(4, 3)
    opt.zero_grad()
    nn.functional.mse_loss(net(z, x), x[:, :2]).backward()
    opt.step()
