"""Normalised returns per group: empty groups divide by zero and are filled with 0 afterwards."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 12), nn.Softplus(), nn.Linear(12, 3), nn.Softplus())
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(6):
    x = torch.randn(20, 4)
    member = (torch.rand(20, 3) < 0.5).float()
    member[:3] = 0
    value = net(x) * member
    ratio = value / value.sum(1, keepdim=True)  # or: masked-nan
    share = ratio.masked_fill(member.sum(1, keepdim=True) == 0, 0.0)  # expect: masked-nan
    loss = (share[:, 0] - 0.5).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
