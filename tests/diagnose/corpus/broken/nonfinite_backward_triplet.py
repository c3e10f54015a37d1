import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)

class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(10, 32), nn.PReLU(), nn.Linear(32, 8))

    def forward(self, x):
        return F.normalize(self.f(x), dim=-1)

class Mined(nn.Module):
    def __init__(self, margin=0.2):
        super().__init__()
        self.margin = margin

    def forward(self, z, y):
        d = (z[:, None] - z[None]).pow(2).sum(-1).sqrt()  # expect: nonfinite-backward
        same = y[:, None] == y[None]
        pos = d.mul(same).sum(1) / same.sum(1)
        neg = (d + 10.0 * same).min(1).values
        return F.relu(pos - neg + self.margin).mean()

net, loss_fn = Embed(), Mined()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
centres = torch.randn(4, 10)
for step in range(20):
    y = torch.arange(16) % 4
    x = centres[y] + 0.3 * torch.randn(16, 10)
    z = net(x)
    loss = loss_fn(z, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
