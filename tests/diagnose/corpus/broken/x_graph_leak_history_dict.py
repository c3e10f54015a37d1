"""Validation without no_grad; the outputs are kept in a history."""
from collections import defaultdict

import torch
from torch import nn, optim

torch.manual_seed(0)
history = defaultdict(list)


def objective(model, x):
    return ((model(x) - x.norm(dim=1, keepdim=True)) ** 2).mean()


def validate(model, x):
    model.eval()
    history["val"].append(objective(model, x))  # expect: graph-leak
    model.train()


net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = optim.Adam(net.parameters(), lr=5e-3)
val = torch.randn(64, 6)
for i in range(30):
    loss = objective(net, torch.randn(32, 6))
    opt.zero_grad()
    loss.backward()
    opt.step()
    history["train"].append(loss.item())
    validate(net, val)
print(history["train"][-1], history["val"][-1].item())
