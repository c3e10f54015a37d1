"""Mixup, ReduceLROnPlateau, best state kept as a copy of the state_dict, early stopping."""
import copy

import torch
from torch import nn


def mixup(x, y, alpha=0.4):
    lam = torch.distributions.Beta(alpha, alpha).sample()
    perm = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[perm], lam * y + (1 - lam) * y[perm]


torch.manual_seed(0)
x = torch.randn(120, 6)
y = nn.functional.one_hot(x[:, :3].argmax(1), 3).float()
model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
best, best_loss = None, float("inf")
for epoch in range(8):
    model.train()
    for i in range(0, 90, 30):
        xm, ym = mixup(x[i:i + 30], y[i:i + 30])
        opt.zero_grad(set_to_none=False)
        loss = nn.functional.cross_entropy(model(xm), ym)
        loss.backward()
        opt.step()
    model.eval()
    with torch.inference_mode():
        val = nn.functional.cross_entropy(model(x[90:]), y[90:]).item()
    plateau.step(val)
    if val < best_loss:
        best, best_loss = copy.deepcopy(model.state_dict()), val
model.load_state_dict(best)
print(best_loss)
