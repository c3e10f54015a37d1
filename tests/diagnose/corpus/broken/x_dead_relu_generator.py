import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class G(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(4, 32), nn.Linear(32, 32), nn.Linear(32, 2)

    def forward(self, z):
        h = F.relu(self.l1(z))
        h = F.relu(self.l2(h) - 25)  # expect: dead-relu l2.weight l2.bias
        return self.l3(h)


class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


g, d = G(), D()
og = torch.optim.Adam(g.parameters(), lr=1e-3, betas=(0.5, 0.9))
od = torch.optim.Adam(d.parameters(), lr=1e-3, betas=(0.5, 0.9))
bce = F.binary_cross_entropy_with_logits
for it in range(30):
    real = torch.randn(32, 2) + 3
    fake = g(torch.randn(32, 4))
    ld = bce(d(real), torch.ones(32, 1)) + bce(d(fake.detach()), torch.zeros(32, 1))
    od.zero_grad()
    ld.backward()
    od.step()
    lg = bce(d(fake), torch.ones(32, 1))
    og.zero_grad()
    lg.backward()
    og.step()
