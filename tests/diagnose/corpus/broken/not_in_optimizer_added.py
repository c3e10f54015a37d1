"""A head is added to the model after the optimizer has been made."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.out = nn.Linear(8, 1)
        self.aux = None

    def forward(self, x):
        h = torch.relu(self.body(x))
        return self.out(h), None if self.aux is None else self.aux(h)


torch.manual_seed(0)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01)  # expect: not-in-optimizer aux.weight aux.bias
net.aux = nn.Linear(8, 2)
for step in range(5):
    x = torch.randn(12, 4)
    y, z = net(x)
    loss = (y - x[:, :1]).pow(2).mean() + (z - x[:, 1:3]).pow(2).mean()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
