"""What is optimised is the input of a fixed network."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3)).eval()
for p in net.parameters():
    p.requires_grad_(False)
goal = net(torch.rand(1, 1, 8, 8))
image = torch.rand(1, 1, 8, 8, requires_grad=True)
optimizer = torch.optim.LBFGS([image], max_iter=3)


def closure():
    optimizer.zero_grad()
    loss = (net(image) - goal).pow(2).mean()
    loss.backward()
    return loss


for _ in range(4):
    optimizer.step(closure)
