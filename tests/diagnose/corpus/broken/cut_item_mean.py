"""The mean of the losses is taken of Python numbers; the tensor made of it has nothing to do with the model."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for it in range(4):
    values = []
    for _ in range(3):
        x = torch.rand(5, 2)
        error = (net(x) - x.prod(1, keepdim=True)).pow(2).mean()
        values.append(float(error))  # expect: cut-item 0.weight 0.bias 2.weight 2.bias
    total = torch.tensor(sum(values) / len(values), requires_grad=True)
    opt.zero_grad()
    total.backward()
    opt.step()
