"""Two losses share a trunk: the first backward() retains the graph for the second, in two loops."""

import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(5, 12), nn.Tanh())
heads = nn.ModuleList([nn.Linear(12, 1) for _ in range(3)])
optimizer = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], lr=0.01)
for _ in range(5):
    h = trunk(torch.randn(9, 5))
    optimizer.zero_grad()
    losses = [head(h).pow(2).mean() for head in heads]
    for i, loss in enumerate(losses):
        (loss / len(losses)).backward(retain_graph=i < len(losses) - 1)
    optimizer.step()
for _ in range(5):
    h = trunk(torch.randn(9, 5))
    first, second = heads[0](h).abs().mean(), heads[1](h).pow(2).mean()
    optimizer.zero_grad()
    first.backward(retain_graph=True)
    second.backward()
    optimizer.step()
