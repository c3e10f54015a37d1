"""Every tenth step (counted from one) a penalty's graph is added to a running sum."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
norm_sum = torch.zeros(())
for step in range(1, 121):
    x = torch.randn(16, 4)
    loss = (model(x) - x.mean(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        norm_sum = norm_sum + sum(p.norm() for p in model.parameters())  # expect: graph-leak
print(norm_sum.item())
