"""First-order meta-learning: copies of the model are adapted, and their gradients are given to the model."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))
meta = torch.optim.Adam(model.parameters(), lr=1e-3)
mse = nn.MSELoss()
for _ in range(6):
    meta.zero_grad()
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    for task in range(3):
        shift, learner = torch.rand(1) * 3, copy.deepcopy(model)
        x = torch.rand(10, 1)
        inner = torch.optim.SGD(learner.parameters(), lr=0.05)
        inner.zero_grad()
        mse(learner(x), torch.sin(x + shift)).backward()
        inner.step()
        inner.zero_grad()
        mse(learner(x), torch.sin(x + shift)).backward()
        for p, q in zip(model.parameters(), learner.parameters()):
            p.grad += q.grad / 3
    meta.step()
