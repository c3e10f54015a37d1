"""A hook keeps the activations of every step."""

import torch
from torch import nn

torch.manual_seed(0)
activations = []


def keep(module, inputs, output):
    activations.append(output)  # expect: graph-leak


net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
net[1].register_forward_hook(keep)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(10):
    loss = nn.functional.mse_loss(net(torch.randn(4, 3)), torch.zeros(4, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(sum(a.gt(0).float().mean().item() for a in activations) / len(activations))
