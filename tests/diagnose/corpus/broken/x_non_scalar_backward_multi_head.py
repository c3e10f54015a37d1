"""Three critics' losses are stacked and not summed."""
import torch
from torch import nn

torch.manual_seed(0)
critics = nn.ModuleList([nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1)) for _ in range(3)])
opt = torch.optim.Adam(critics.parameters(), lr=1e-3)
for i in range(5):
    sa = torch.randn(32, 5)
    target = sa.sum(1, keepdim=True)
    losses = torch.stack([nn.functional.mse_loss(c(sa), target) for c in critics])  # or: non-scalar-backward
    opt.zero_grad()
    losses.backward()  # expect: non-scalar-backward
    opt.step()
