"""The last losses are kept as tensors, in windows of bounded length."""

from collections import deque

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
last, recent = deque(maxlen=6), []
for step in range(25):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(net(x), x.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    last.append(loss)
    recent.append(loss)
    if len(recent) > 5:
        recent.pop(0)
    if step % 10 == 0:
        print(sum(v.item() for v in last) / len(last), min(v.item() for v in recent))
