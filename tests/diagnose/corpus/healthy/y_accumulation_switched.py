"""Accumulation switched on late, scaled; the rest of an epoch is scaled by its own number."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.randn(30, 8, 5)
for epoch in range(6):
    k = 1 if epoch < 2 else 4
    for i in range(0, len(data), k):
        group = data[i:i + k]
        opt.zero_grad()
        for x in group:
            (nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)) / len(group)).backward()
        opt.step()
print(sum(p.norm().item() for p in model.parameters()))
