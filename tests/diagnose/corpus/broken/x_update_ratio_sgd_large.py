"""SGD with a rate of 30 on an absolute error: every step moves the weights by many times their size."""
import torch
from torch import nn


def make(seed):
    torch.manual_seed(seed)
    net = nn.Linear(6, 1)
    opt = torch.optim.SGD(net.parameters(), lr=30.0)  # expect: update-ratio
    return net, opt


net, opt = make(0)
for i in range(25):
    x = torch.randn(40, 6)
    y = torch.sign(x[:, :1])
    loss = torch.nn.functional.l1_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()  # or: update-ratio
    print(i, loss.item())
