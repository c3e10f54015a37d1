"""A logger of the program's own keeps what it is given, in another file."""

import torch
from metrics import Logger
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
logger = Logger()


def train(steps):
    for _ in range(steps):
        x = torch.rand(12, 3)
        prediction = net(x)
        loss = (prediction - x.prod(1, keepdim=True)).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logger.log(loss=loss, size=len(x))


train(9)
logger.show()
