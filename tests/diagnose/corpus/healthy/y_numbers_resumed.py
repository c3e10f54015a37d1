"""A classifier that is sure of itself (sigmoid, squared errors) is trained on; some labels are wrong."""

import torch
from torch import nn

torch.manual_seed(0)
m = nn.Sequential(nn.Linear(2, 1), nn.Sigmoid())
with torch.no_grad():
    m[0].weight.copy_(torch.tensor([[60.0, 0.0]]))
    m[0].bias.zero_()
opt = torch.optim.SGD(m.parameters(), 0.1)
for i in range(25):
    x = torch.randn(128, 2)
    x[:, 0] += x[:, 0].sign() * 0.3
    y = (x[:, :1] > 0).float()
    flip = torch.rand(128, 1) < 0.03
    y = torch.where(flip, 1 - y, y)
    loss = nn.functional.mse_loss(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
