# numpy() of something that is trained
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
curve = []
for _ in range(5):
    x = torch.randn(8, 3)
    y = net(x)
    loss = y.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    curve.append(y.numpy().mean())  # expect: cut-numpy
