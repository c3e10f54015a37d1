# a fixed point without a graph, one step with, a hook for the backward solve
import torch
from torch import nn

torch.manual_seed(0)

class DEQ(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w, self.u = nn.Linear(d, d), nn.Linear(d, d)
        nn.init.normal_(self.w.weight, std=0.1)

    def f(self, z, x):
        return torch.tanh(self.w(z) + self.u(x))

    def forward(self, x):
        with torch.no_grad():
            z = torch.zeros_like(x)
            for _ in range(20):
                z = self.f(z, x)
        z = self.f(z, x)
        z0 = z.clone().detach().requires_grad_()
        f0 = self.f(z0, x)

        def solve(g):
            y = g
            for _ in range(10):
                y = torch.autograd.grad(f0, z0, y, retain_graph=True)[0] + g
            return y
        if z.requires_grad:
            z.register_hook(solve)
        return z

net = nn.Sequential(DEQ(6), nn.Linear(6, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(10):
    x = torch.randn(16, 6)
    loss = (net(x)[:, 0] - x[:, 0]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
