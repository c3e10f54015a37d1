"""Accumulation is switched on after a warm-up of plain steps, and is not scaled."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
accumulate, seen = 1, 0
opt.zero_grad()
for i in range(200):
    if i == 60:
        accumulate = 4
    x = torch.randn(8, 5)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    loss.backward()  # expect: accumulation-scale
    seen += 1
    if seen == accumulate:
        opt.step()
        opt.zero_grad()
        seen = 0
print(loss.item())
