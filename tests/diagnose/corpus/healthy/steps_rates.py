"""Learning rates that are zero or tiny for a while, or for a part, and steps that are large for small weights."""

import torch
from torch import nn


def data():
    x = torch.randn(32, 3)
    return x, x @ torch.tensor([[2.0], [-3.4], [1.0]]) + 4.2


def fit(model, optimizer, scheduler=None, steps=16):
    for _ in range(steps):
        x, y = data()
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    return loss.item()


torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
print(fit(model, optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1.0, i / 5))))

model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
print(fit(model, optimizer, torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 16)))

model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD([{"params": model[0].parameters(), "lr": 0.0}, {"params": model[2].parameters()}], lr=0.05)
print(fit(model, optimizer))

model = nn.Linear(3, 1)
nn.init.normal_(model.weight, std=0.01)
nn.init.zeros_(model.bias)
print(fit(model, torch.optim.SGD(model.parameters(), lr=0.1)))

w = torch.zeros(3, 1, requires_grad=True)
optimizer = torch.optim.Adam([w], lr=0.3)
for _ in range(10):
    x, y = data()
    optimizer.zero_grad()
    (x @ w - y).pow(2).mean().backward()
    optimizer.step()
