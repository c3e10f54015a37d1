# an attribute of that name which says how to build
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self, n, requires_grad=False):
        super().__init__()
        self.requires_grad = requires_grad
        self.gain = nn.Parameter(torch.ones(n), requires_grad=requires_grad)
        self.shift = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        return x * self.gain + self.shift


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), Scale(8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for _ in range(10):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
