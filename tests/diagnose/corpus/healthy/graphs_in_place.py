"""In-place operations that nothing has saved the old value of."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.act = nn.ReLU(inplace=True)
        self.second = nn.Linear(8, 2)
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x):
        self.steps += 1
        h = self.act(self.norm(self.first(x)))
        h = h + 1
        h += 0.5
        out = self.second(h)
        table = torch.zeros(len(x), 3)
        table[:, :2] = out
        table[:, 2] += out.sum(1)
        return table.clone().mul_(2).clamp_(-5, 5)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
for _ in range(5):
    loss = net(torch.randn(6, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    for p in net.parameters():
        p.grad.mul_(0.9)
    optimizer.step()
