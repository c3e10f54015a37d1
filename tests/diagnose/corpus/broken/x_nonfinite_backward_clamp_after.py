import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 10), nn.Tanh(), nn.Linear(10, 4, bias=False))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(9):
    x = torch.randn(16, 3)
    rows = net(x) * (torch.arange(16) != 4)[:, None]
    length = rows.pow(2).sum(1).sqrt()  # expect: nonfinite-backward
    length = length.clamp(min=1e-6)  # or: nonfinite-backward
    loss = (length - 1).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
