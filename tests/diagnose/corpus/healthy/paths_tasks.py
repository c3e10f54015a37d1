"""Several heads, one of them for each batch, in turn."""

import itertools

import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Linear(4, 8)
heads = nn.ModuleDict({name: nn.Linear(8, 1) for name in ("sum", "max", "min", "norm", "first")})
optimizer = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.05)
goals = {"sum": lambda x: x.sum(1), "max": lambda x: x.max(1).values, "min": lambda x: x.min(1).values,
    "norm": lambda x: x.norm(dim=1), "first": lambda x: x[:, 0]}
for _, (name, goal) in zip(range(10), itertools.cycle(goals.items())):
    x = torch.randn(16, 4)
    loss = (heads[name](trunk(x).relu()).squeeze(1) - goal(x)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
