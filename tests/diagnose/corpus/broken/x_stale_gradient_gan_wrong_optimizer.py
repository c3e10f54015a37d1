"""WGAN with weight clipping: opt_d is zeroed twice and opt_g never."""
import torch
from torch import nn
from torch import optim

torch.manual_seed(0)
N = 32


class G(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, z):
        return self.f(z)


class C(nn.Module):
    def __init__(self):
        super().__init__()
        self.g = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.g(x)


netG, netC = G(), C()
opt_g = optim.RMSprop(netG.parameters(), lr=1e-3)
opt_d = optim.RMSprop(netC.parameters(), lr=1e-3)
for it in range(12):
    for _ in range(2):
        real = 3 + 0.5 * torch.randn(N, 1)
        with torch.no_grad():
            fake = netG(torch.randn(N, 2))
        loss_c = netC(fake).mean() - netC(real).mean()
        opt_d.zero_grad()
        loss_c.backward()
        opt_d.step()
        with torch.no_grad():
            for p in netC.parameters():
                p.clamp_(-0.3, 0.3)
    loss_g = -netC(netG(torch.randn(N, 2))).mean()
    opt_d.zero_grad()
    loss_g.backward()
    opt_g.step()  # expect: stale-gradient f.0.weight f.0.bias f.2.weight f.2.bias
    print(it, loss_c.item(), loss_g.item())
