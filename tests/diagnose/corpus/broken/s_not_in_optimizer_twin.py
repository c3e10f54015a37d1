import torch
from torch import nn

torch.manual_seed(0)


class G(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, z):
        return self.net(z)


class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x)


G_net, D_net = G(), D()
opt_g = torch.optim.Adam(D_net.parameters(), lr=1e-3)  # expect: not-in-optimizer
opt_d = torch.optim.Adam(D_net.parameters(), lr=1e-3)
for it in range(20):
    real = torch.randn(16, 2) + 3
    z = torch.randn(16, 4)
    d_loss = (torch.relu(1 - D_net(real)) + torch.relu(1 + D_net(G_net(z).detach()))).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = -D_net(G_net(z)).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
