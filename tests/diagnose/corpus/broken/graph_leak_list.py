"""Every loss is kept with its graph, for the mean of the epoch."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
losses = []
for _ in range(8):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss)  # expect: graph-leak
print("mean", (sum(losses) / len(losses)).item())
