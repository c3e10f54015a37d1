"""Layers are replaced, copied and initialised anew before the optimizer is made; the copies are averages."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 10))
model[2] = nn.Linear(8, 2)
model[0].weight = nn.Parameter(torch.randn(8, 4) * 0.3)
model = copy.deepcopy(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
average = copy.deepcopy(model).requires_grad_(False)
best = None
for _ in range(8):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > x[:, 1]).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for p, q in zip(model.parameters(), average.parameters()):
        q.lerp_(p.detach(), 0.1)
    if best is None or loss.item() < best[0]:
        best = loss.item(), copy.deepcopy(model.state_dict())
model.load_state_dict(best[1])
