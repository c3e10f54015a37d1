"""A discriminator with a minibatch-deviation feature: var().sqrt() of a unit that is dropped in the whole batch."""
import torch
from torch import nn
import torch.nn.functional as F


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 32)
        self.fc2 = nn.Linear(33, 1)

    def forward(self, x):
        h = F.dropout(torch.tanh(self.fc1(x)), 0.4, self.training)
        spread = h.var(dim=0).sqrt().mean()  # expect: nonfinite-backward
        return self.fc2(torch.cat([h, spread.expand(len(x), 1)], dim=1))


class Gan:
    def __init__(self):
        self.g = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 6))
        self.d = Critic()
        self.og = torch.optim.Adam(self.g.parameters(), lr=1e-3)
        self.od = torch.optim.Adam(self.d.parameters(), lr=1e-3)

    def step(self, real):
        fake = self.g(torch.randn(len(real), 2))
        d_loss = F.softplus(-self.d(real)).mean() + F.softplus(self.d(fake.detach())).mean()
        self.od.zero_grad()
        d_loss.backward()
        self.od.step()
        g_loss = F.softplus(-self.d(fake)).mean()
        self.og.zero_grad()
        g_loss.backward()
        self.og.step()
        return d_loss.item(), g_loss.item()


torch.manual_seed(0)
gan = Gan()
for i in range(6):
    print(gan.step(torch.rand(4, 6) * 0.1 + 1))
